import type { DepotCheck, DepotEntry } from '@millrace/shared/bridge/rpc/share-api';
import { Field } from '@millrace/shared/ui/fields';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { type FormEvent, useState } from 'react';
import { DAY_S, HOUR_S } from '../../../model/shares/shares.ts';
import { bytes, hostOf } from '../../../text/format.ts';
import type { Text } from '../../../text/text.ts';
import { useActions, useApp, useText } from '../../common/context.tsx';
import type { PageProps } from '../page-props.ts';

export function DepotsPage({ settings }: PageProps) {
  const text = useText();
  const app = useApp();
  const [url, setUrl] = useState('');
  const [token, setToken] = useState('');
  const isComplete = url.trim() !== '' && token.trim() !== '';
  const keep = (depots: readonly DepotEntry[]) => app.applyPart({ depots });
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete) return;
    const asked = { url: url.trim(), token: token.trim() };
    const set = await app.attempt(app.call('millrace.setDepot', asked));
    if (set === undefined) return;
    keep(set.depots);
    setUrl('');
    setToken('');
  };
  return (
    <>
      <p className="quiet">{text.t('depots.text')}</p>
      <form className="depot-form" onSubmit={(event) => void add(event)} noValidate>
        <Field
          label={text.t('depots.address')}
          note={text.t('depots.address.help')}
          placeholder={text.t('edges.placeholder')}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <Field
          label={text.t('depots.token')}
          note={text.t('depots.token.note')}
          type="password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <div>
          <button type="submit" className="button primary" disabled={!isComplete}>
            {text.t('depots.add')}
          </button>
        </div>
      </form>
      {settings.depots.length === 0 ? (
        <p className="note">{text.t('depots.empty')}</p>
      ) : (
        <ul className="edges depots">
          {settings.depots.map((depot) => (
            <Depot key={depot.url} depot={depot} onDepots={keep} />
          ))}
        </ul>
      )}
    </>
  );
}

interface DepotProps {
  readonly depot: DepotEntry;
  readonly onDepots: (depots: readonly DepotEntry[]) => void;
}

function Depot({ depot: { url, name }, onDepots }: DepotProps) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const [result, setResult] = useState<DepotCheck | 'checking' | undefined>(undefined);
  const title = name === '' ? hostOf(url) : name;
  const check = async () => {
    setResult('checking');
    setResult(await app.attempt(app.call('millrace.checkDepot', { url })));
  };
  const remove = async () => {
    const left = await app.attempt(app.call('millrace.removeDepot', { url }));
    if (left !== undefined) onDepots(left.depots);
  };
  return (
    <li>
      <div className="edge-name">
        <strong className="cut">{title}</strong>
        <CheckResult url={url} result={result} />
      </div>
      <button
        type="button"
        className="button small"
        aria-label={`${text.t('depots.check')}: ${title}`}
        onClick={() => void check()}
      >
        {text.t('depots.check')}
      </button>
      <button
        type="button"
        className="button small"
        aria-label={`${text.t('depots.invite')}: ${title}`}
        onClick={() => actions.open({ kind: 'invite', url })}
      >
        {text.t('depots.invite')}
      </button>
      <IconButton
        name="close"
        size={14}
        label={text.t('depots.remove', { name: title })}
        onClick={() => void remove()}
      />
    </li>
  );
}

function CheckResult({
  url,
  result,
}: {
  url: string;
  result: DepotCheck | 'checking' | undefined;
}) {
  const text = useText();
  if (result === undefined) {
    return (
      <span className="note cut" role="status">
        {url}
      </span>
    );
  }
  if (result === 'checking') {
    return (
      <span className="note" role="status">
        {text.t('edges.testing')}
      </span>
    );
  }
  const { ok, problem, bytesLeft = 0, eachBytes, maxSeconds = 0 } = result;
  if (!ok) {
    const words = problem && text.error(problem);
    return (
      <span className="note bad" role="status">
        {words === undefined ? text.t('edges.bad') : `${words.title}. ${words.help}`}
      </span>
    );
  }
  const left = text.t('depots.ok', {
    bytes: bytes(text, bytesLeft),
    time: time(text, maxSeconds),
  });
  return (
    <span className="note figures" role="status">
      <i className="dot good" />
      {left}
      {eachBytes !== undefined && ` · ${text.t('depots.each', { bytes: bytes(text, eachBytes) })}`}
    </span>
  );
}

function time(text: Text, seconds: number): string {
  return seconds >= DAY_S
    ? text.n('depots.days', Math.floor(seconds / DAY_S))
    : text.n('depots.hours', Math.floor(seconds / HOUR_S));
}
