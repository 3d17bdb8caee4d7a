/** Methods for removing downloads, and for the trash. */

import { TRASH_ROWS } from '@millrace/shared/bridge/contract/trash-rows';
import type { RemovalSummary, TrashItem } from '@millrace/shared/bridge/rpc/trash-api';
import { expiresAt } from '@millrace/shared/download/queue/trash';
import type { Manager } from '../../downloads/manager.ts';
import { isFinished } from '../../store/record.ts';
import type { TrashRow } from '../../store/trash-store.ts';
import type { Method } from '../calls/dispatcher.ts';
import { methodsOf } from './params.ts';

export function trashMethods(manager: Manager): [string, Method][] {
  return methodsOf(TRASH_ROWS, {
    'millrace.remove': (p) => manager.remover.remove(p),
    'millrace.removalSummary': (p) => summaryOf(manager, p.gids),
    'millrace.undoRemove': async (p) => ({ gids: await manager.remover.undo(p.undo) }),
    'millrace.purge': (p) => {
      const { gids: gone, undo } = manager.remover.forgetFinished(p.status, p.before);
      return { count: gone.length, ...(undo === undefined ? {} : { undo }) };
    },
    'millrace.trash': ({ offset, limit }) => {
      const { store } = manager.trash;
      const { days } = manager.settings.app.trash;
      // Read the page first: it finds unreadable rows, which the totals then leave out.
      const rows = store.page(offset, limit);
      const { count, bytes } = store.totals();
      return { total: count, bytes, items: rows.map((row) => itemOf(row, days)) };
    },
    'millrace.restoreTrash': async (p) => ({
      gids: await manager.remover.restore(p.gids.map((one) => manager.trash.find(one))),
    }),
    'millrace.emptyTrash': (p) =>
      manager.trash.delete(
        p.gids?.map((one) => manager.trash.find(one)) ?? manager.trash.store.gids(),
      ),
  });
}

function summaryOf(manager: Manager, asked: readonly string[]): RemovalSummary {
  const summary = { count: 0, unfinished: 0, partialBytes: 0, complete: 0, fileBytes: 0 };
  for (const one of asked) {
    const { state, storedBytes, length, gid: full } = manager.get(one);
    summary.count++;
    if (state === 'complete') {
      summary.complete++;
      summary.fileBytes += length ?? 0;
      continue;
    }
    const progress = manager.running(full)?.progress();
    const bytes = Math.max(storedBytes, progress?.storedBytes ?? 0);
    if (!isFinished(state) || bytes > 0) summary.unfinished++;
    summary.partialBytes += bytes;
  }
  return summary;
}

function itemOf(row: TrashRow, days: number): TrashItem {
  const { gid: full, record, leftover, bytes, removedAt } = row;
  return {
    gid: full,
    name: record.name,
    status: record.state,
    kept: bytes > 0 ? (leftover?.kind ?? 'entry') : 'entry',
    bytes,
    length: record.length,
    host: record.host,
    removedAt,
    expiresAt: expiresAt(row, days),
  };
}
