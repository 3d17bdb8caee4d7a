/** The settings, a page for each subject. Changes apply at once, or with "Save". */

import type { SettingsChange } from '@millrace/shared/bridge/rpc/settings-api';
import { Icon, type IconName } from '@millrace/shared/ui/icons';
import * as Tabs from '@radix-ui/react-tabs';
import type { SettingsPage } from '../../model/app-state.ts';
import { useApp, useAppState, useText } from '../common/context.tsx';
import { Dialog } from '../common/dialog.tsx';
import { AfterPage } from './after-page.tsx';
import { AppearancePage, LanguagePage } from './appearance-page.tsx';
import { CategoriesPage } from './categories-page.tsx';
import { DevicesPage } from './devices-page.tsx';
import { DepotsPage } from './edges/depots-page.tsx';
import { EdgesPage } from './edges/edges-page.tsx';
import { ExchangePage } from './exchange-page.tsx';
import { FoldersPage } from './folders-page.tsx';
import { IntegrationPage } from './integration-page.tsx';
import { LimitsPage } from './limits-page.tsx';
import type { PageProps } from './page-props.ts';
import { ProxyPage } from './proxy-page.tsx';
import { ResolversPage } from './resolvers/resolvers-page.tsx';
import { SchedulePage } from './schedule-page.tsx';

const PAGES: readonly (readonly [SettingsPage, IconName, (props: PageProps) => React.ReactNode])[] =
  [
    ['folders', 'folder', FoldersPage],
    ['categories', 'categories', CategoriesPage],
    ['after', 'done', AfterPage],
    ['edges', 'edge', EdgesPage],
    ['depots', 'archives', DepotsPage],
    ['limits', 'limit', LimitsPage],
    ['schedule', 'schedule', SchedulePage],
    ['proxy', 'proxy', ProxyPage],
    ['resolvers', 'link', ResolversPage],
    ['exchange', 'exchange', ExchangePage],
    ['devices', 'device', DevicesPage],
    ['integration', 'integration', IntegrationPage],
    ['appearance', 'appearance', AppearancePage],
    ['language', 'language', LanguagePage],
  ];

export function SettingsDialog({ page }: { page: SettingsPage }) {
  const text = useText();
  const app = useApp();
  const settings = useAppState((state) => state.settings);
  const save = (change: SettingsChange) => app.changeSettings(change);
  return (
    <Dialog title={text.t('settings.title')} size="large">
      <Tabs.Root
        className="settings"
        defaultValue={page}
        orientation="vertical"
        dir={text.direction}
      >
        <Tabs.List className="settings-tabs" aria-label={text.t('settings.title')}>
          {PAGES.map(([name, icon]) => (
            <Tabs.Trigger key={name} value={name} className="side-item">
              <Icon name={icon} />
              <span>{text.t(`settings.${name}`)}</span>
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {PAGES.map(([name, , Page]) => (
          <Tabs.Content key={name} value={name} className="settings-page">
            <h3>{text.t(`settings.${name}`)}</h3>
            {settings === undefined ? (
              <p className="note">{text.t('settings.loading')}</p>
            ) : (
              <Page settings={settings} save={save} />
            )}
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </Dialog>
  );
}
