/** The sections for behaviour and for the extension's permissions. */

import { Choice, Switch } from '@millrace/shared/ui/fields';
import { CATALOGUES, type Key } from '../../text/text.ts';
import { useText } from '../common/context.tsx';
import { Section, type SectionProps } from './section.tsx';

const SKIP_KEYS = ['alt', 'shift', 'ctrl', 'none'] as const;
const THEMES = ['system', 'light', 'dark'] as const;

export function BehaviourSection({ settings, save }: SectionProps) {
  const text = useText();
  return (
    <Section name="behaviour">
      <Choice
        label={text.t('behaviour.skipKey')}
        note={text.t('behaviour.skipKey.help')}
        options={SKIP_KEYS.map((value) => ({ value, label: text.t(`behaviour.skipKey.${value}`) }))}
        value={settings.skipKey}
        onChange={(skipKey) => save({ skipKey })}
      />
      <Switch
        label={text.t('behaviour.notifications')}
        note={text.t('behaviour.notifications.help')}
        checked={settings.notifications}
        onChange={(notifications) => save({ notifications })}
      />
      <Choice
        label={text.t('behaviour.theme')}
        note={text.t('behaviour.language')}
        options={THEMES.map((value) => ({ value, label: text.t(`behaviour.theme.${value}`) }))}
        value={settings.theme}
        onChange={(theme) => save({ theme })}
      />
    </Section>
  );
}

/** Explains the extension's permissions. @param permissions names in the manifest */
export function PermissionsSection({ permissions }: { permissions: readonly string[] }) {
  const text = useText();
  const explained = permissions.filter((name): name is Permission =>
    Object.hasOwn(CATALOGUES.en, `permission.${name}`),
  );
  return (
    <Section name="permissions">
      <p className="quiet">{text.t('permissions.text')}</p>
      <dl className="permissions">
        {explained.map((name) => (
          <div key={name}>
            <dt className="mono">{name}</dt>
            <dd>{text.t(`permission.${name}`)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

type Permission = Key extends infer K
  ? K extends `permission.${infer Name}`
    ? Name
    : never
  : never;
