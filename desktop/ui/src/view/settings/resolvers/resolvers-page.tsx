/** The programs that find links to files: their order, whether they are on, and what they answer. */

import {
  type Resolver,
  type Resolvers,
  type ResolverTest,
  YT_DLP,
} from '@millrace/shared/bridge/rpc/settings-api';
import { Field, Select, Switch } from '@millrace/shared/ui/fields';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { useEffect, useState } from 'react';
import { bytes, dateTime } from '../../../text/format.ts';
import { useApp, useText } from '../../common/context.tsx';
import { ResolverForm } from './resolver-form.tsx';

export function ResolversPage() {
  const text = useText();
  const app = useApp();
  const [found, setFound] = useState<Resolvers | 'refused' | undefined>(undefined);
  const [edited, setEdited] = useState<Resolver | 'new' | undefined>(undefined);
  useEffect(() => {
    app.call('millrace.getResolvers', {}).then(setFound, () => setFound('refused'));
  }, [app]);
  if (found === undefined) return <p className="note">{text.t('settings.loading')}</p>;
  if (found === 'refused') return <p className="note">{text.t('resolvers.elsewhere')}</p>;
  const all = found.resolvers;
  // A change is told from what the daemon keeps then: earlier clicks may have changed it.
  const store = async (change: (now: readonly Resolver[]) => readonly Resolver[]) => {
    const stored = await app.attempt(
      app.changes.inTurn(async () => {
        const now = await app.call('millrace.getResolvers', {});
        const resolvers = change(now.resolvers).map(toGiven);
        setFound(await app.call('millrace.setResolvers', { resolvers }));
        return true;
      }),
    );
    return stored === true;
  };
  const keep = async (old: Resolver | undefined, next: Resolver) => {
    const stored = await store((now) =>
      now.some(({ name }) => name === old?.name)
        ? now.map((one) => (one.name === old?.name ? next : one))
        : [...now, next],
    );
    if (stored) setEdited(undefined);
    return stored;
  };
  return (
    <>
      <p className="quiet">{text.t('resolvers.text')}</p>
      <p className="note">{text.t('resolvers.may')}</p>
      {all.length === 0 && <p className="note">{text.t('resolvers.none')}</p>}
      {all.length > 0 && (
        <ol className="edges resolvers" aria-label={text.t('settings.resolvers')}>
          {all.map((one, index) => (
            <li key={one.name}>
              <Switch
                label={one.name}
                note={one.patterns.join(', ') || text.t('resolvers.named')}
                checked={one.off !== true}
                onChange={(on) =>
                  void store((now) => now.map((o) => (o.name === one.name ? turned(o, on) : o)))
                }
              />
              <span className="mono cut" title={one.args.join(' ')}>
                {one.args.join(' ')}
              </span>
              <span className="resolver-tools">
                <IconButton
                  name="up"
                  label={text.t('resolvers.up')}
                  of={one.name}
                  disabled={index === 0}
                  onClick={() => void store((now) => moved(now, one.name, -1))}
                />
                <IconButton
                  name="down"
                  label={text.t('resolvers.down')}
                  of={one.name}
                  disabled={index === all.length - 1}
                  onClick={() => void store((now) => moved(now, one.name, 1))}
                />
                <IconButton
                  name="settings"
                  label={text.t('resolvers.change')}
                  of={one.name}
                  onClick={() => setEdited(one)}
                />
                <IconButton
                  name="close"
                  label={text.t('resolvers.remove')}
                  of={one.name}
                  onClick={() => void store((now) => now.filter(({ name }) => name !== one.name))}
                />
              </span>
            </li>
          ))}
        </ol>
      )}
      {all.length > 1 && <p className="note">{text.t('resolvers.order')}</p>}
      {edited === undefined ? (
        <div className="line start">
          <button type="button" className="button" onClick={() => setEdited('new')}>
            {text.t('resolvers.add')}
          </button>
          {found.ytDlp !== undefined && (
            <button
              type="button"
              className="button"
              title={found.ytDlp}
              onClick={() => setEdited(YT_DLP)}
            >
              {text.t('resolvers.useYtDlp')}
            </button>
          )}
        </div>
      ) : (
        <ResolverForm
          key={edited === 'new' ? '' : edited.name}
          given={edited === 'new' ? undefined : edited}
          save={(next) => keep(edited === 'new' ? undefined : edited, next)}
          onCancel={() => setEdited(undefined)}
        />
      )}
      <ResolverTester names={all.filter(({ off }) => off !== true).map(({ name }) => name)} />
    </>
  );
}

/** Moves a resolver by a number of places, at most to an end of the list. */
function moved(all: readonly Resolver[], name: string, by: number): readonly Resolver[] {
  const from = all.findIndex((one) => one.name === name);
  if (from < 0) return all;
  const next = [...all];
  next.splice(Math.max(0, from + by), 0, ...next.splice(from, 1));
  return next;
}

function turned({ off: _, ...resolver }: Resolver, on: boolean): Resolver {
  return on ? resolver : { ...resolver, off: true };
}

function toGiven({ args, patterns, ...rest }: Resolver) {
  return { ...rest, args: [...args], patterns: [...patterns] };
}

/**
 * Asks a resolver about a link, and shows the answer: nothing is downloaded.
 *
 * @param names resolvers that can be asked
 */
function ResolverTester({ names }: { readonly names: readonly string[] }) {
  const text = useText();
  const app = useApp();
  const [url, setUrl] = useState('');
  const [chosen, setChosen] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [answer, setAnswer] = useState<ResolverTest | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const all = names.includes('yt-dlp') ? names : [...names, 'yt-dlp'];
  const resolver = all.includes(chosen) ? chosen : '';
  const ask = async () => {
    setAsking(true);
    setAnswer(undefined);
    setProblem(undefined);
    try {
      const one = resolver === '' ? {} : { resolver };
      setAnswer(await app.call('millrace.testResolver', { url: url.trim(), ...one }));
    } catch (error) {
      setProblem(app.reason(error));
    }
    setAsking(false);
  };
  return (
    <form
      className="learned"
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <h4>{text.t('resolvers.test')}</h4>
      <Field
        label={text.t('resolvers.test.url')}
        note={text.t('resolvers.test.url.help')}
        value={url}
        placeholder="https://video.example.org/watch/1"
        problem={problem}
        onChange={(event) => setUrl(event.target.value)}
        after={
          <button type="submit" className="button" disabled={url.trim() === '' || isAsking}>
            {text.t(isAsking ? 'resolvers.test.asking' : 'resolvers.test.ask')}
          </button>
        }
      />
      <Select
        label={text.t('resolvers.test.whom')}
        note={text.t('resolvers.test.whom.help')}
        options={[
          { value: '', label: text.t('resolvers.test.first') },
          ...all.map((name) => ({ value: name, label: name })),
        ]}
        value={resolver}
        onChange={setChosen}
      />
      <div role="status">{answer !== undefined && <Answer answer={answer} />}</div>
    </form>
  );
}

function Answer({ answer }: { readonly answer: ResolverTest }) {
  const text = useText();
  const { by, urls, name, length, fields, expires, note } = answer;
  if (by === undefined) return <p className="note">{text.t('resolvers.test.nobody')}</p>;
  const facts = [
    name,
    length === undefined ? undefined : bytes(text, length),
    fields.length === 0 ? undefined : text.t('resolvers.test.fields', { names: fields.join(', ') }),
    expires === undefined
      ? undefined
      : text.t('resolvers.test.expires', { time: dateTime(text, expires) }),
    note,
  ].filter((fact) => fact !== undefined);
  return (
    <div className="resolver-answer">
      <strong>{text.t('resolvers.test.by', { name: by })}</strong>
      {facts.map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      {urls.map((url) => (
        <span key={url} className="mono">
          {url}
        </span>
      ))}
    </div>
  );
}
