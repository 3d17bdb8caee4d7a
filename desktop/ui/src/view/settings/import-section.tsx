/** Imports downloads from a file, after a preview. */

import type { ParamsOf, ResultOf } from '@millrace/shared/bridge/contract/contract';
import type { ImportEntry, ImportPreview } from '@millrace/shared/bridge/rpc/adding-api';
import { Switch } from '@millrace/shared/ui/fields';
import { type ChangeEvent, useRef, useState } from 'react';
import { foldersOf, MAX_IMPORT_BYTES } from '../../model/exchange.ts';
import { bytes, hostOf } from '../../text/format.ts';
import { useApp, useText } from '../common/context.tsx';

/** Most lines of each kind that are shown; further lines are counted. */
const MAX_LINES = 8;
/** Most entries of each folder that are shown. */
const MAX_ENTRIES = 50;

type Stage =
  | {
      readonly kind: 'preview';
      readonly list: ParamsOf<'millrace.import'>;
      readonly preview: ImportPreview;
    }
  | { readonly kind: 'done'; readonly result: ResultOf<'millrace.import'> }
  | { readonly kind: 'problem'; readonly problem: string }
  | { readonly kind: 'working' };

export function Import() {
  const text = useText();
  const app = useApp();
  const field = useRef<HTMLInputElement>(null);
  const [stage, setStage] = useState<Stage | undefined>(undefined);
  const look = async (list: ParamsOf<'millrace.import'>): Promise<Stage> => ({
    kind: 'preview',
    list,
    preview: await app.call('millrace.previewImport', list),
  });
  const read = async (file: File): Promise<Stage> => {
    if (file.size > MAX_IMPORT_BYTES) {
      const most = bytes(text, MAX_IMPORT_BYTES);
      const problem = text.t('exchange.import.large', { name: file.name, most });
      return { kind: 'problem', problem };
    }
    try {
      return await look({ text: await file.text() });
    } catch (error) {
      const why = app.reason(error);
      return { kind: 'problem', problem: text.t('exchange.import.bad', { name: file.name, why }) };
    }
  };
  const attempt = async (work: () => Promise<Stage>) => {
    setStage({ kind: 'working' });
    const problem = (error: unknown): Stage => ({ kind: 'problem', problem: app.reason(error) });
    setStage(await work().catch(problem));
  };
  const take = async (event: ChangeEvent<HTMLInputElement>) => {
    const [file] = event.target.files ?? [];
    if (file === undefined) return;
    await attempt(() => read(file));
    // Cleared, so that the same file can be chosen again.
    if (field.current !== null) field.current.value = '';
  };
  const add = (list: ParamsOf<'millrace.import'>) =>
    attempt(async () => ({ kind: 'done', result: await app.call('millrace.import', list) }));
  const working = stage?.kind === 'working';
  return (
    <section className="exchange">
      <h4>{text.t('exchange.import')}</h4>
      <p className="note">{text.t('exchange.import.text')}</p>
      <input
        ref={field}
        type="file"
        hidden
        accept=".json,.txt,.list,.session,text/plain,application/json"
        onChange={(event) => void take(event)}
      />
      <button
        type="button"
        className="button small start"
        disabled={working}
        onClick={() => field.current?.click()}
      >
        {text.t(working ? 'exchange.import.working' : 'exchange.import.submit')}
      </button>
      <div role="status" className="exchange-outcome">
        {stage?.kind === 'problem' && <p className="bad">{stage.problem}</p>}
        {stage?.kind === 'done' && <Told result={stage.result} />}
        {stage?.kind === 'preview' && (
          <Preview
            list={stage.list}
            preview={stage.preview}
            change={(list) => void attempt(() => look(list))}
            add={() => void add(stage.list)}
            cancel={() => setStage(undefined)}
          />
        )}
      </div>
    </section>
  );
}

interface PreviewProps {
  readonly list: ParamsOf<'millrace.import'>;
  readonly preview: ImportPreview;
  readonly change: (list: ParamsOf<'millrace.import'>) => void;
  readonly add: () => void;
  readonly cancel: () => void;
}

function Preview({ list, preview, change, add, cancel }: PreviewProps) {
  const text = useText();
  const { entries, skipped } = preview;
  const { trusted = false, paused = false } = list;
  const delicate = entries.flatMap(({ line, delicate: parts }) =>
    parts.map(({ what, value }) => ({
      line,
      key: `${line} ${what} ${value}`,
      why: `${text.t(`exchange.delicate.${what}`)} ${value}`.trim(),
    })),
  );
  return (
    <div className="import-preview">
      {foldersOf(entries).map(([dir, inside]) => (
        <Folder key={dir} dir={dir} entries={inside} />
      ))}
      {delicate.length > 0 && (
        <Lines
          title={text.n(
            trusted ? 'exchange.import.delicate.taken' : 'exchange.import.delicate.left',
            delicate.length,
          )}
          lines={delicate}
        />
      )}
      <Skipped skipped={skipped} />
      <Switch
        label={text.t('exchange.import.paused')}
        note={text.t('exchange.import.paused.help')}
        checked={paused}
        onChange={(on) => change({ text: list.text, trusted, ...(on ? { paused: true } : {}) })}
      />
      <Switch
        label={text.t('exchange.import.trusted')}
        note={text.t('exchange.import.trusted.help')}
        checked={trusted}
        onChange={(on) => change({ ...list, trusted: on })}
      />
      <div className="field-row">
        <button
          type="button"
          className="button small primary"
          disabled={entries.length === 0}
          onClick={add}
        >
          {text.n('exchange.import.add', entries.length)}
        </button>
        <button type="button" className="button small" onClick={cancel}>
          {text.t('word.cancel')}
        </button>
      </div>
    </div>
  );
}

function Folder({ dir, entries }: { dir: string; entries: readonly ImportEntry[] }) {
  const text = useText();
  const facts = ({ url, length }: ImportEntry) =>
    [hostOf(url), ...(length === undefined ? [] : [bytes(text, length)])].join(' · ');
  return (
    <>
      <p>{text.n('exchange.import.folder', entries.length, { dir })}</p>
      <ul className="note import-entries">
        {entries.slice(0, MAX_ENTRIES).map((entry) => (
          <li key={entry.line}>
            {entry.name} <span className="quiet">{facts(entry)}</span>
          </li>
        ))}
      </ul>
      <More count={entries.length - MAX_ENTRIES} />
    </>
  );
}

interface Line {
  readonly key: string;
  readonly line: number;
  readonly why: string;
}

function Lines({ title, lines }: { title: string; lines: readonly Line[] }) {
  const text = useText();
  return (
    <>
      <p className="bad">{title}</p>
      <ul className="note">
        {lines.slice(0, MAX_LINES).map(({ key, line, why }) => (
          <li key={key}>{text.t('exchange.import.line', { n: line, why })}</li>
        ))}
      </ul>
      <More count={lines.length - MAX_LINES} />
    </>
  );
}

function More({ count }: { count: number }) {
  const text = useText();
  return count > 0 ? <p className="note">{text.n('exchange.import.more', count)}</p> : null;
}

function Skipped({ skipped }: Pick<ImportPreview, 'skipped'>) {
  const text = useText();
  if (skipped.length === 0) return null;
  const lines = skipped.map(({ line, reason, code, detail = '', particulars }) => ({
    key: String(line),
    line,
    why: code === undefined ? reason : text.why({ code, message: reason, detail, particulars }),
  }));
  return <Lines title={text.n('exchange.import.skipped', skipped.length)} lines={lines} />;
}

function Told({ result: { gids, skipped } }: { result: ResultOf<'millrace.import'> }) {
  const text = useText();
  return (
    <>
      <p>
        {gids.length === 0 ? text.t('exchange.import.nothing') : text.n('toast.added', gids.length)}
      </p>
      <Skipped skipped={skipped} />
    </>
  );
}
