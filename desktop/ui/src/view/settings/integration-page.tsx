import { remoteOrigin } from '@millrace/shared/bridge/page/remote-origin';
import {
  PREFERENCE_NAMES,
  type ShellApi,
  type ShellPreferences,
} from '@millrace/shared/bridge/page/shell-api';
import { Field, Switch } from '@millrace/shared/ui/fields';
import { useEffect, useState } from 'react';
import { asksByItself, asksChange } from '../../model/adding/link-questions.ts';
import { shell } from '../../model/shell.ts';
import { useText } from '../common/context.tsx';
import { KeySection } from './key-section.tsx';
import type { PageProps } from './page-props.ts';

/** The page of the desktop app's own preferences, which the app keeps itself, and of the world around. */
export function IntegrationPage({ settings, save }: PageProps) {
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
            note={text.t(`integration.${name}.help`)}
            checked={preferences?.[name] ?? false}
            disabled={preferences === undefined}
            onChange={(on) => void change({ [name]: on })}
          />
        ))}
      </div>
      <div className="switches">
        <Switch
          label={text.t('integration.askLinks')}
          note={text.t('integration.askLinks.note')}
          checked={asksByItself(settings)}
          onChange={(on) => void save(asksChange(on))}
        />
      </div>
      {shell !== undefined && <OtherMachine shell={shell} />}
      <KeySection />
      <p className="note">{text.t('integration.rpc')}</p>
      <p className="mono">{`${location.origin}/jsonrpc`}</p>
    </>
  );
}

/** The choice of a daemon on another machine; the app itself asks before it uses it. */
function OtherMachine({ shell }: { readonly shell: ShellApi }) {
  const text = useText();
  const [address, setAddress] = useState('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const isAddress = remoteOrigin(address.trim()) !== undefined;
  const use = async () => {
    const answer = await shell
      .showRemote(address)
      .catch((error: Error) => ({ problem: error.message }));
    setProblem(answer.problem);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void use();
      }}
    >
      <Field
        label={text.t('integration.remote')}
        value={address}
        placeholder="https://nas.example"
        note={text.t('integration.remote.text')}
        problem={problem}
        onChange={(event) => {
          setAddress(event.target.value);
          setProblem(undefined);
        }}
        after={
          <button type="submit" className="button" disabled={!isAddress}>
            {text.t('integration.remote.use')}
          </button>
        }
      />
    </form>
  );
}
