/** Dialogs about removed downloads: the question before a large removal, and the trash. */

import type { RemovalSummary, TrashItem, TrashPage } from '@millrace/shared/bridge/rpc/trash-api';
import { Icon } from '@millrace/shared/ui/icons';
import { useCallback, useEffect, useState } from 'react';
import { onlyEntries } from '../../model/removal.ts';
import { bytes, when } from '../../text/format.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Dialog, DialogForm } from '../common/dialog.tsx';
import { useNow } from '../common/now.ts';

const PAGE = 100;
const DAY_MS = 24 * 3600_000;

interface RemoveProps {
  readonly gids: readonly string[];
  readonly summary: RemovalSummary;
  /** True if the files of finished downloads are removed as well. */
  readonly files: boolean;
}

/** Asks before many downloads, much data, or files are removed. */
export function RemoveDialog({ gids, summary, files }: RemoveProps) {
  const text = useText();
  const actions = useActions();
  const days = useAppState(({ settings }) => settings?.trash.days ?? 0);
  const { count, unfinished, partialBytes, complete, fileBytes } = summary;
  const empty = count - unfinished - complete;
  const remove = async () => {
    actions.open(undefined);
    await actions.removeNow(gids, summary, files);
  };
  const title = files
    ? text.n('remove.files.title', complete)
    : onlyEntries(summary)
      ? text.n('remove.list.title', count)
      : text.n('remove.title', count);
  return (
    <Dialog title={title} size="small" alert>
      <DialogForm
        submit={days > 0 ? text.t('remove.submit') : text.t('remove.submit.forGood')}
        danger={days === 0}
        onSubmit={() => void remove()}
      >
        <ul className="losses">
          {unfinished > 0 && (
            <li>{text.n('remove.unfinished', unfinished, { bytes: bytes(text, partialBytes) })}</li>
          )}
          {complete > 0 && files && (
            <li>{text.n('remove.files', complete, { bytes: bytes(text, fileBytes) })}</li>
          )}
          {complete > 0 && !files && <li>{text.n('remove.complete', complete)}</li>}
          {empty > 0 && !files && unfinished + complete > 0 && (
            <li>{text.n('remove.empty', empty)}</li>
          )}
        </ul>
        <p className="quiet">{days > 0 ? text.n('remove.kept', days) : text.t('remove.forGood')}</p>
      </DialogForm>
    </Dialog>
  );
}

/** The trash: removed downloads, until they are deleted for good. */
export function TrashDialog() {
  const text = useText();
  const app = useApp();
  const total = useAppState(({ totals }) => totals?.trash);
  const days = useAppState(({ settings }) => settings?.trash.days ?? 0);
  const [page, setPage] = useState<TrashPage | undefined>(undefined);
  const [shown, setShown] = useState(PAGE);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<readonly string[] | 'all' | undefined>(undefined);
  const read = useCallback(async () => {
    const items: TrashItem[] = [];
    for (;;) {
      const limit = Math.min(1000, shown - items.length);
      const next = await app.attempt(app.call('millrace.trash', { offset: items.length, limit }));
      if (next === undefined) return;
      items.push(...next.items);
      if (items.length >= Math.min(shown, next.total) || next.items.length === 0) {
        setPage({ ...next, items });
        const left = new Set(items.map(({ gid }) => gid));
        setChosen((before) => new Set([...before].filter((gid) => left.has(gid))));
        return;
      }
    }
  }, [app, shown]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: reads the trash again after changes.
  useEffect(() => {
    void read();
  }, [read, total?.count, total?.bytes]);
  const restore = async (gids: readonly string[]) => {
    const back = await app.attempt(app.call('millrace.restoreTrash', { gids }));
    if (back !== undefined) app.toast(text.n('toast.restored', back.gids.length));
    await read();
  };
  const empty = async (what: readonly string[] | 'all') => {
    setAsking(undefined);
    const asked = what === 'all' ? {} : { gids: what };
    const gone = await app.attempt(app.call('millrace.emptyTrash', asked));
    if (gone !== undefined) app.toast(text.n('toast.deleted', gone.count));
    await read();
  };
  const items = page?.items ?? [];
  const some = items.filter(({ gid }) => chosen.has(gid)).map(({ gid }) => gid);
  const toggle = (gid: string) =>
    setChosen((before) => {
      const after = new Set(before);
      if (!after.delete(gid)) after.add(gid);
      return after;
    });
  const every = items.length > 0 && some.length === items.length;
  return (
    <Dialog title={text.t('trash.title')} size="large">
      <div className="dialog-form">
        <div className="dialog-body">
          <p className="quiet">
            {days > 0 ? text.n('trash.text', days) : text.t('trash.text.none')}
          </p>
          {page !== undefined && items.length === 0 && (
            <p className="trash-empty">
              <Icon name="remove" size={28} />
              {text.t('trash.empty')}
            </p>
          )}
          {items.length > 0 && (
            <table className="trash">
              <thead>
                <tr>
                  <th scope="col">
                    <input
                      type="checkbox"
                      aria-label={text.t('trash.all')}
                      checked={every}
                      onChange={() => setChosen(new Set(every ? [] : items.map(({ gid }) => gid)))}
                    />
                  </th>
                  <th scope="col">{text.t('trash.name')}</th>
                  <th scope="col">{text.t('trash.what')}</th>
                  <th scope="col">{text.t('trash.removed')}</th>
                  <th scope="col">{text.t('trash.left')}</th>
                </tr>
              </thead>
              <tbody>
                {items.map((item) => (
                  <TrashRow
                    key={item.gid}
                    item={item}
                    chosen={chosen.has(item.gid)}
                    toggle={() => toggle(item.gid)}
                  />
                ))}
              </tbody>
            </table>
          )}
          {page !== undefined && page.total > items.length && (
            <button
              type="button"
              className="button small start"
              onClick={() => setShown(shown + 10 * PAGE)}
            >
              {text.t('trash.more', { n: text.number(page.total - items.length) })}
            </button>
          )}
        </div>
        {asking === undefined ? (
          <div className="dialog-foot">
            <span className="trash-sum note" role="status">
              {page !== undefined &&
                text.n('trash.sum', page.total, { bytes: bytes(text, page.bytes) })}
            </span>
            <button
              type="button"
              className="button"
              disabled={items.length === 0}
              onClick={() => setAsking(some.length > 0 ? some : 'all')}
            >
              {some.length > 0 ? text.t('trash.delete') : text.t('trash.emptyIt')}
            </button>
            <button
              type="button"
              className="button primary"
              disabled={some.length === 0}
              onClick={() => void restore(some)}
            >
              {text.t('trash.restore')}
            </button>
          </div>
        ) : (
          <div className="dialog-foot" role="alertdialog" aria-label={text.t('trash.delete')}>
            <span className="trash-sum">
              {text.n('trash.ask', asking === 'all' ? (page?.total ?? 0) : asking.length)}
            </span>
            {/* biome-ignore lint/a11y/noAutofocus: the answer that does nothing has the focus. */}
            <button type="button" className="button" autoFocus onClick={() => setAsking(undefined)}>
              {text.t('word.cancel')}
            </button>
            <button type="button" className="button danger" onClick={() => void empty(asking)}>
              {text.t('trash.delete')}
            </button>
          </div>
        )}
      </div>
    </Dialog>
  );
}

interface RowProps {
  readonly item: TrashItem;
  readonly chosen: boolean;
  readonly toggle: () => void;
}

function TrashRow({ item, chosen, toggle }: RowProps) {
  const text = useText();
  const now = useNow(60_000);
  const { gid, name, host, kept, removedAt, expiresAt } = item;
  const days = Math.max(0, Math.ceil((expiresAt - now) / DAY_MS));
  const size = item.bytes > 0 ? ` · ${bytes(text, item.bytes)}` : '';
  return (
    <tr className={chosen ? 'chosen' : ''}>
      <td>
        <input
          type="checkbox"
          id={`trash-${gid}`}
          aria-label={name}
          checked={chosen}
          onChange={toggle}
        />
      </td>
      <td>
        <label className="trash-name" htmlFor={`trash-${gid}`}>
          <span className="cut" title={name}>
            {name}
          </span>
          <span className="cut note">{host}</span>
        </label>
      </td>
      <td className="figures">{`${text.t(`trash.kept.${kept}`)}${size}`}</td>
      <td className="figures">{when(text, removedAt, now)}</td>
      <td className="figures">{text.n('trash.days', days)}</td>
    </tr>
  );
}
