import { PREFERENCE_NAMES, type ShellPreferences } from '@millrace/shared/bridge/page/shell-api';
import { Switch } from '@millrace/shared/ui/fields';
import { useEffect, useState } from 'react';
import { shell } from '../../model/shell.ts';
import { useText } from '../common/context.tsx';

/** The page of the desktop app's own preferences, which the app keeps itself. */
export function IntegrationPage() {
  const text = useText();
  const [preferences, setPreferences] = useState<ShellPreferences | undefined>(undefined);
  useEffect(() => {
    shell?.getPreferences().then(setPreferences, () => undefined);
  }, []);
  const change = (part: Partial<ShellPreferences>) =>
    shell?.setPreferences(part).then(setPreferences, () => undefined);
  return (
    <>
      <p className="quiet">{text.t('integration.text')}</p>
      {shell === undefined && <p className="note">{text.t('integration.browser')}</p>}
      <div className="switches">
        {PREFERENCE_NAMES.map((name) => (
          <Switch
            key={name}
            label={text.t(`integration.${name}`)}
            checked={preferences?.[name] ?? false}
            disabled={preferences === undefined}
            onChange={(on) => void change({ [name]: on })}
          />
        ))}
      </div>
      <p className="note">{text.t('integration.rpc')}</p>
      <p className="mono">{`${location.origin}/jsonrpc`}</p>
    </>
  );
}
