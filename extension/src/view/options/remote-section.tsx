/** The daemon on another machine: pairs it by a code, shows whether it answers, and forgets it. */

import { Field } from '@millrace/shared/ui/fields';
import { Icon } from '@millrace/shared/ui/icons';
import { type FormEvent, useState } from 'react';
import { type PairProblem, type RemoteState, remoteOrigin } from '../../contract/remote.ts';
import type { Settings } from '../../contract/settings.ts';
import { useText } from '../common/context.tsx';
import { Section } from './section.tsx';

/** Reason why there is no pairing; permission: the user did not let the extension ask that host. */
export type NotPaired = PairProblem | 'permission';

interface RemoteProps {
  readonly settings: Settings;
  readonly save: (change: Partial<Settings>) => void;
  /** Undefined while the background is asked. */
  readonly remote: RemoteState | undefined;
  /** Resolves with the problem, if there is one. */
  readonly pair: (url: string, code: string) => Promise<NotPaired | undefined>;
  readonly forget: () => void;
}

export function RemoteSection({ settings, save, remote, pair, forget }: RemoteProps) {
  const text = useText();
  return (
    <Section name="remote">
      <p className="quiet">{text.t('remote.text')}</p>
      {remote === undefined && <p className="note">{text.t('taker.state.checking')}</p>}
      {remote !== undefined && remote.url === undefined && <NewRemote pair={pair} />}
      {remote?.url !== undefined && (
        <Paired
          url={remote.url}
          problem={remote.problem}
          chosen={settings.taker === 'remote'}
          choose={() => save({ taker: 'remote' })}
          forget={forget}
        />
      )}
      <p className="note">{text.t('remote.cookies')}</p>
    </Section>
  );
}

interface PairedProps {
  readonly url: string;
  readonly problem: RemoteState['problem'];
  readonly chosen: boolean;
  readonly choose: () => void;
  readonly forget: () => void;
}

function Paired({ url, problem, chosen, choose, forget }: PairedProps) {
  const text = useText();
  const host = new URL(url).host;
  return (
    <div className={`desktop-state ${problem === undefined ? 'good' : 'missing'}`} role="status">
      <span className="desktop-line">
        <Icon name={problem === undefined ? 'done' : 'failed'} />
        <span>
          <strong className="cut">{text.t('remote.paired', { host })}</strong>
          <span>{text.t(problem === undefined ? 'remote.good' : `remote.problem.${problem}`)}</span>
        </span>
      </span>
      <div className="repair">
        <p>{text.t(chosen ? 'remote.chosen' : 'remote.notChosen')}</p>
        <span className="buttons">
          {!chosen && (
            <button type="button" className="button small primary" onClick={choose}>
              {text.t('remote.choose')}
            </button>
          )}
          <a className="button small" href={url} target="_blank" rel="noreferrer">
            {text.t('remote.open')}
          </a>
          <button type="button" className="button small" onClick={forget}>
            {text.t('remote.forget')}
          </button>
        </span>
      </div>
    </div>
  );
}

/** Fields for the address and the code. Mistakes show only after the user has tried them. */
function NewRemote({ pair }: { pair: RemoteProps['pair'] }) {
  const text = useText();
  const [typed, setTyped] = useState({ url: '', code: '' });
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<NotPaired>();
  const origin = remoteOrigin(typed.url);
  const code = typed.code.trim();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    setFailure(undefined);
    if (origin === undefined || code === '' || busy) return;
    setBusy(true);
    // Called at once: the browser asks the user for permission only during a click.
    setFailure(await pair(origin, code));
    setBusy(false);
  };
  const change = (members: Partial<typeof typed>) => {
    setTyped({ ...typed, ...members });
    setFailure(undefined);
  };
  return (
    <form className="new-edge" onSubmit={(event) => void submit(event)} noValidate>
      <Field
        label={text.t('remote.url')}
        type="url"
        placeholder={text.t('remote.url.placeholder')}
        value={typed.url}
        problem={tried && origin === undefined ? text.t('remote.url.bad') : undefined}
        onChange={({ target }) => change({ url: target.value })}
      />
      <Field
        label={text.t('remote.code')}
        note={text.t('remote.code.help')}
        maxLength={64}
        value={typed.code}
        problem={tried && code === '' ? text.t('remote.code.none') : undefined}
        onChange={({ target }) => change({ code: target.value })}
      />
      <button type="submit" className="button" disabled={busy}>
        {text.t(busy ? 'remote.pairing' : 'remote.pair')}
      </button>
      {failure !== undefined && (
        <p className="note bad" role="alert">
          {text.t(`remote.problem.${failure}`)}
        </p>
      )}
    </form>
  );
}
