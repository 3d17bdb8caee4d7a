/** The dialog for sending files: which ones, for how long, encrypted or not, and to which depots. */

import type { DepotCheck, Outgoing } from '@millrace/shared/bridge/rpc/share-api';
import { Choice, Switch } from '@millrace/shared/ui/fields';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';
import { bytesOf, type Sendable } from '../../model/shares/share-actions.ts';
import {
  allowedTerm,
  depotsFor,
  isTooSmall,
  MAX_COPIES,
  secondsOf,
  type Term,
  termsFor,
} from '../../model/shares/shares.ts';
import { bytes, hostOf, percent } from '../../text/format.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Dialog, DialogForm } from '../common/dialog.tsx';
import { useDepotChecks } from './depot-checks.ts';
import { TermChoice } from './term-choice.tsx';

/** Most files that are sent at a time. */
const MAX_FILES = 20;

export function SendDialog({ files: given }: { files: readonly File[] }) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const depots = useAppState(({ settings }) => settings?.depots ?? NONE);
  const [files, setFiles] = useState<readonly Sendable[]>(given.slice(0, MAX_FILES));
  const [wanted, setTerm] = useState<Term>('week');
  const [encrypts, setEncrypts] = useState(false);
  const [wantedCopies, setCopies] = useState<number | undefined>(undefined);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [copied, setCopied] = useState<number | undefined>(undefined);
  const checks = useDepotChecks(depots.map(({ url }) => url));
  const stop = useRef(new AbortController());
  // A dialog that is closed sends nothing more.
  useEffect(() => {
    const controller = new AbortController();
    stop.current = controller;
    return () => controller.abort();
  }, []);
  if (depots.length === 0) return <NoDepot />;

  const chosen = depots.map(({ url }) => url).filter((url) => !left.has(url));
  const sizes = files.map(bytesOf);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  const asked = chosen.flatMap((url) => checks.get(url) ?? []);
  const terms = termsFor(asked);
  const term = allowedTerm(wanted, terms);
  const copies = wantedCopies ?? Math.min(MAX_COPIES, chosen.length);
  const submit = async () => {
    const { signal } = stop.current;
    const to = depotsFor(chosen, checks, { copies, sizes });
    const options = { seconds: secondsOf(term), depots: to, copies, encrypt: encrypts };
    setCopied(0);
    let before = 0;
    for (const [i, file] of files.entries()) {
      const onCopied = (now: number) => setCopied(before + now);
      const sent = await app.attempt(actions.shares.send(file, options, onCopied, signal));
      if (signal.aborted) return;
      if (sent === undefined) {
        // The files that were sent before are in the list.
        setFiles(files.slice(i));
        setCopied(undefined);
        return;
      }
      before += bytesOf(file);
    }
    actions.open(undefined);
    actions.shares.show();
  };
  const part = all === 0 ? 1 : (copied ?? 0) / all;
  return (
    <Dialog title={text.t('bar.send')}>
      <DialogForm
        submit={
          copied === undefined
            ? text.t('send.submit')
            : text.t('send.working', { part: percent(text, part) })
        }
        disabled={copied !== undefined || files.length === 0 || chosen.length === 0}
        onSubmit={() => void submit()}
      >
        <p className="quiet">{text.t('send.text')}</p>
        <Files files={files} onChoose={setFiles} />
        <TermChoice term={term} terms={terms} onChange={setTerm} />
        <Switch
          label={text.t('send.encrypt')}
          note={text.t(encrypts ? 'send.encrypt.on' : 'send.encrypt.off')}
          checked={encrypts}
          onChange={setEncrypts}
        />
        <fieldset className="field send-depots">
          <legend className="label">{text.t('send.depots')}</legend>
          {depots.map(({ url, name }) => (
            <label key={url} className="check">
              <input
                type="checkbox"
                checked={!left.has(url)}
                onChange={() => setLeft(toggled(left, url))}
              />
              <span>
                {name === '' ? hostOf(url) : name}
                <DepotNote check={checks.get(url)} sizes={sizes} />
              </span>
            </label>
          ))}
        </fieldset>
        <Choice
          label={text.t('send.copies')}
          note={text.t(copies > chosen.length ? 'send.copies.found' : 'send.copies.note')}
          options={Array.from({ length: MAX_COPIES }, (_, i) => ({
            value: String(i + 1),
            label: text.number(i + 1),
          }))}
          value={String(copies)}
          onChange={(value) => setCopies(Number(value))}
        />
      </DialogForm>
    </Dialog>
  );
}

const NONE: readonly never[] = [];

interface DepotNoteProps {
  readonly check: DepotCheck | undefined;
  /** Bytes of each file. */
  readonly sizes: readonly number[];
}

/** Says why a depot cannot take the files. */
function DepotNote({ check, sizes }: DepotNoteProps) {
  const text = useText();
  if (check === undefined || (check.ok && !isTooSmall(check, sizes))) return null;
  const why = check.problem === undefined ? undefined : text.error(check.problem).title;
  return <span className="note bad"> · {why ?? text.t('send.depots.noRoom')}</span>;
}

function toggled(left: ReadonlySet<string>, url: string): ReadonlySet<string> {
  const next = new Set(left);
  if (!next.delete(url)) next.add(url);
  return next;
}

interface FilesProps {
  readonly files: readonly Sendable[];
  readonly onChoose: (files: readonly Sendable[]) => void;
}

function Files({ files, onChoose }: FilesProps) {
  const text = useText();
  const picker = useRef<HTMLInputElement>(null);
  const { chooseFolder } = useActions().shares;
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const picked = [...(target.files ?? [])].slice(0, MAX_FILES);
    if (picked.length > 0) onChoose(picked);
    // The same file can be chosen again.
    target.value = '';
  };
  const pickFolder = async (choosing: () => Promise<Outgoing | undefined>) => {
    const folder = await choosing();
    if (folder !== undefined) onChoose([folder]);
  };
  return (
    <div className="field">
      {files.length > 0 && (
        <ul className="send-files">
          {files.map((file, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name.
            <li key={i}>
              <span className="cut" title={file.name}>
                {file.name}
              </span>
              <span className="note figures">{bytes(text, bytesOf(file))}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="send-choose">
        <button type="button" className="button" onClick={() => picker.current?.click()}>
          {text.t(files.length === 0 ? 'send.choose' : 'send.chooseOther')}
        </button>
        {chooseFolder !== undefined && (
          <button type="button" className="button" onClick={() => void pickFolder(chooseFolder)}>
            {text.t('send.folder')}
          </button>
        )}
      </div>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={text.t('send.choose')}
        onChange={choose}
      />
    </div>
  );
}

function NoDepot() {
  const text = useText();
  const actions = useActions();
  return (
    <Dialog title={text.t('bar.send')} size="small">
      <DialogForm
        submit={text.t('send.toSettings')}
        onSubmit={() => actions.openSettings('depots')}
      >
        <p>{text.t('send.text')}</p>
        <p>{text.t('send.noDepot')}</p>
      </DialogForm>
    </Dialog>
  );
}
