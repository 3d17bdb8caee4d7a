/** The options page. */

import { api } from '../browser/api.ts';
import '@millrace/shared/style/toasts.css';
import './style/options.css';
import { openPage } from './common/page.tsx';
import { Options } from './options/options.tsx';
import { OptionsModel } from './options/options-model.ts';

const page = openPage();
const model = new OptionsModel(page.background, page.text);
const refresh = () => {
  void model.load();
  void model.checkTakers();
  void model.checkRemote();
};
refresh();
page.background.watch(refresh);
const { version, permissions = [], host_permissions = [] } = api.runtime.getManifest();
document.title = `Millrace: ${page.text.t('options.title')}`;
// Firefox lets users take the permission for all sites away; then that one host is asked for. Its
// patterns have no ports.
const allow = (origin: string) =>
  api.permissions
    .request({ origins: [`https://${new URL(origin).hostname}/*`] })
    .catch(() => false);
page.show(
  <Options
    model={model}
    version={version}
    permissions={[...permissions, ...(host_permissions as string[])]}
    allow={allow}
  />,
);
