/** Dialogs with a question or two: a new link, a change, a limit, the keys. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { Choice, Field } from '@millrace/shared/ui/fields';
import { useId, useState } from 'react';
import { readChecksum, readLimit } from '../../model/adding/add-form.ts';
import { DEFAULT_PROXY, isBadProxy, proxyOf } from '../../model/adding/proxy-pick.ts';
import { shell } from '../../model/shell.ts';
import { bytes } from '../../text/format.ts';
import { CategorySelect } from './category-select.tsx';
import { useActions, useApp, useAppState, useRow, useText } from './context.tsx';
import { Dialog, DialogForm } from './dialog.tsx';
import { FolderField } from './folder-field.tsx';
import { ProxyField } from './proxy-field.tsx';

export function NewLinkDialog({ gid }: { gid: string }) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const row = useRow(gid);
  const [url, setUrl] = useState('');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [checking, setChecking] = useState(false);
  if (row === undefined) return null;
  const submit = async () => {
    setChecking(true);
    try {
      await app.call('millrace.replaceUrl', { gid, url: url.trim() });
      actions.open(undefined);
    } catch (error) {
      setProblem(text.t('newLink.refused', { why: app.reason(error) }));
    } finally {
      setChecking(false);
    }
  };
  return (
    <Dialog title={text.t('newLink.title', { name: row.name })} size="small">
      <DialogForm
        submit={checking ? text.t('newLink.checking') : text.t('newLink.submit')}
        disabled={url.trim() === '' || checking}
        onSubmit={() => void submit()}
      >
        {row.error !== undefined && <p>{text.error(row.error).help}</p>}
        {row.page !== undefined && <SourcePage gid={gid} page={row.page} />}
        <p className="quiet">
          {row.storedBytes > 0
            ? text.t('newLink.text', { bytes: bytes(text, row.storedBytes) })
            : text.t('newLink.text.nothing')}
        </p>
        <Field
          label={text.t('newLink.label')}
          value={url}
          placeholder={row.urls[0] ?? ''}
          problem={problem}
          onChange={(event) => {
            setUrl(event.target.value);
            setProblem(undefined);
          }}
        />
      </DialogForm>
    </Dialog>
  );
}

/**
 * Leads to the page that the link was on: clicking its link again renews the download. The app's
 * window has the system's browser open it.
 */
function SourcePage({ gid, page }: { gid: string; page: string }) {
  const text = useText();
  const app = useApp();
  const open = async () => {
    const answer = await shell?.openPage(gid);
    if (answer?.problem !== undefined) app.toast(answer.problem, { kind: 'bad' });
  };
  return (
    <div className="source-page">
      {shell === undefined ? (
        <a className="button" href={page} target="_blank" rel="noreferrer" title={page}>
          {text.t('newLink.page')}
        </a>
      ) : (
        <button type="button" className="button" title={page} onClick={() => void open()}>
          {text.t('newLink.page')}
        </button>
      )}
      <p className="note">{text.t('newLink.again')}</p>
    </div>
  );
}

/** Says what a repair keeps and what it fetches, before it begins. */
export function RepairDialog({ gid }: { gid: string }) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const row = useRow(gid);
  if (row === undefined) return null;
  const host = URL.parse(row.urls[0] ?? '')?.host ?? '';
  const submit = async () => {
    const done = await app.attempt(app.call('millrace.repair', { gid }));
    if (done !== undefined) actions.open(undefined);
  };
  return (
    <Dialog title={text.t('repair.title', { name: row.name })} size="small">
      <DialogForm submit={text.t('repair.submit')} onSubmit={() => void submit()}>
        <p>{text.t('repair.kept')}</p>
        <p>{text.t('repair.fetched', { host })}</p>
        <p className="quiet">
          {text.t(row.digest === undefined ? 'repair.safe.unknown' : 'repair.safe')}
        </p>
      </DialogForm>
    </Dialog>
  );
}

type Priority = 'high' | 'normal' | 'low';
const PRIORITIES = { high: 10, normal: 0, low: -10 } as const;

function priorityOf({ priority }: DownloadView): Priority {
  return priority > 0 ? 'high' : priority < 0 ? 'low' : 'normal';
}

export function ChangeDialog({ gid }: { gid: string }) {
  const row = useRow(gid);
  return row === undefined ? null : <ChangeForm row={row} />;
}

/** Changes what the user has touched: another page may change the rest while the dialog is open. */
function ChangeForm({ row }: { row: DownloadView }) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const [first] = useState({
    limit: row.limit === undefined ? '' : bytes(text, row.limit),
    priority: priorityOf(row),
    category: row.category ?? null,
  });
  const [limit, setLimit] = useState(first.limit);
  const [priority, setPriority] = useState(first.priority);
  const [category, setCategory] = useState(first.category);
  const [dir, setDir] = useState('');
  const [file, setFile] = useState('');
  const [checksum, setChecksum] = useState('');
  const [pick, setPick] = useState(DEFAULT_PROXY);
  const proxy = proxyOf(pick);
  const bytesPerSecond = readLimit(limit.replace(/\u00a0/g, ' '));
  const digest = readChecksum(checksum);
  const badChecksum = checksum.trim() !== '' && digest === undefined;
  const failed = row.status === 'error';
  const submit = async () => {
    const change = {
      gids: [row.gid],
      ...(failed ? { retry: true } : {}),
      ...(limit === first.limit ? {} : { limit: bytesPerSecond ?? null }),
      ...(priority === first.priority ? {} : { priority: PRIORITIES[priority] }),
      ...(category === first.category ? {} : { category }),
      ...(dir.trim() === '' ? {} : { dir: dir.trim() }),
      ...(file.trim() === '' ? {} : { file: file.trim() }),
      ...(digest === undefined ? {} : { digests: [digest] }),
      ...(proxy === undefined ? {} : { proxy }),
    };
    const done = await app.attempt(app.call('millrace.changeMany', change));
    if (done !== undefined) actions.open(undefined);
  };
  const option = (value: Priority) => ({ value, label: text.t(`change.priority.${value}`) });
  return (
    <Dialog title={text.t('change.title', { name: row.name })} size="small">
      <DialogForm
        submit={failed ? text.t('action.retry') : text.t('word.save')}
        disabled={bytesPerSecond === undefined || badChecksum || isBadProxy(pick)}
        onSubmit={() => void submit()}
      >
        {failed && row.error !== undefined && <p>{text.error(row.error).help}</p>}
        <CategorySelect value={category} onChange={setCategory} />
        <FolderField value={dir} placeholder={row.dir} onChange={setDir} />
        <Field
          label={text.t('add.name')}
          value={file}
          placeholder={row.name}
          onChange={(event) => setFile(event.target.value)}
        />
        <Field
          label={text.t('add.checksum')}
          value={checksum}
          placeholder={text.t('add.checksum.placeholder')}
          problem={
            badChecksum ? text.t('add.checksum.bad', { n: checksum.trim().length }) : undefined
          }
          onChange={(event) => setChecksum(event.target.value)}
        />
        <Field
          label={text.t('change.limit')}
          value={limit}
          placeholder={text.t('add.limit.placeholder')}
          problem={bytesPerSecond === undefined ? text.t('add.rate.bad') : undefined}
          onChange={(event) => setLimit(event.target.value)}
        />
        <ProxyField
          unchanged={text.t('change.proxy.keep')}
          note={text.t('change.proxy.help')}
          value={pick}
          onChange={setPick}
        />
        <Choice
          label={text.t('change.priority')}
          note={text.t('change.priority.help')}
          options={[option('high'), option('normal'), option('low')]}
          value={priority}
          onChange={setPriority}
        />
      </DialogForm>
    </Dialog>
  );
}

const MIB = 1024 * 1024;
const USUAL = [MIB / 2, MIB, 2 * MIB, 5 * MIB, 10 * MIB, 50 * MIB];

/** Sets the limit of all downloads together. */
export function LimitDialog() {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const now = useAppState(({ settings }) => settings?.limits.limit ?? null);
  const [typed, setTyped] = useState(now === null ? '' : bytes(text, now).replace('\u00a0', ' '));
  const list = useId();
  const limit = readLimit(typed);
  const submit = async () => {
    const stored = await app.changeSettings({ limits: { limit: limit ?? null } });
    if (stored) actions.open(undefined);
  };
  return (
    <Dialog title={text.t('limit.title')} size="small">
      <DialogForm
        submit={text.t('word.save')}
        disabled={limit === undefined}
        onSubmit={() => void submit()}
      >
        <Field
          label={text.t('limit.label')}
          value={typed}
          list={list}
          placeholder={text.t('add.limit.placeholder')}
          problem={limit === undefined ? text.t('add.rate.bad') : undefined}
          note={text.t('limits.speed.help')}
          onChange={(event) => setTyped(event.target.value)}
        />
        <datalist id={list}>
          {USUAL.map((value) => (
            <option key={value} value={`${bytes(text, value).replace('\u00a0', ' ')}/s`} />
          ))}
        </datalist>
      </DialogForm>
    </Dialog>
  );
}

export function KeysDialog() {
  const text = useText();
  const keys = [
    [text.t('keys.add'), ['N']],
    [text.t('keys.send'), ['S']],
    [text.t('keys.paste'), [text.t('cap.ctrl'), 'V']],
    [text.t('keys.search'), ['/']],
    [text.t('keys.move'), ['↑', '↓', text.t('cap.home'), text.t('cap.end')]],
    [text.t('keys.extend'), [text.t('cap.shift'), '↑', '↓']],
    [text.t('keys.all'), [text.t('cap.ctrl'), 'A']],
    [text.t('keys.toggle'), [text.t('cap.space')]],
    [text.t('keys.details'), [text.t('cap.enter')]],
    [text.t('keys.remove'), [text.t('cap.del')]],
    [text.t('keys.undo'), [text.t('cap.ctrl'), 'Z']],
    [text.t('keys.reorder'), [text.t('cap.alt'), '↑', '↓']],
    [text.t('keys.escape'), [text.t('cap.esc')]],
    [text.t('keys.settings'), [text.t('cap.ctrl'), ',']],
    [text.t('keys.help'), ['?']],
  ] as const;
  return (
    <Dialog title={text.t('keys.title')} size="small">
      <dl className="dialog-body keys">
        {keys.map(([what, caps]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd className="line">
              {caps.map((cap) => (
                <kbd key={cap}>{cap}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
