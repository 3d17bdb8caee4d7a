/** Methods for removing downloads, and for the trash. */

import type { RemovalSummary, TrashItem, TrashPage } from '@millrace/shared/bridge/rpc/trash-api';
import { expiresAt } from '@millrace/shared/download/queue/trash';
import { z } from 'zod';
import type { Manager } from '../../downloads/manager.ts';
import { FINISHED, isFinished } from '../../store/record.ts';
import type { TrashRow } from '../../store/trash-store.ts';
import type { Method } from '../calls/dispatcher.ts';
import { gid, gids, method } from './params.ts';

const MAX_PAGE = 1000;

export function trashMethods(manager: Manager): [string, Method][] {
  return [
    method(
      'remove',
      z.strictObject({
        gids,
        deletePartial: z.boolean().default(true),
        deleteFile: z.boolean().default(false),
        forget: z.boolean().default(false),
        now: z.boolean().default(false),
      }),
      (p) => manager.removeAll(p),
    ),
    method('removalSummary', z.strictObject({ gids }), (p) => summaryOf(manager, p.gids)),
    method('undoRemove', z.strictObject({ undo: z.string().optional() }), async (p) => ({
      gids: await manager.undoRemove(p.undo),
    })),
    method(
      'purge',
      z.strictObject({
        status: z.array(z.enum(FINISHED)).optional(),
        before: z.number().int().optional(),
      }),
      (p) => {
        const { gids: gone, undo } = manager.purge(p.status, p.before);
        return { count: gone.length, ...(undo === undefined ? {} : { undo }) };
      },
    ),
    method(
      'trash',
      z.strictObject({
        offset: z.number().int().min(0).default(0),
        limit: z.number().int().min(0).max(MAX_PAGE).default(100),
      }),
      ({ offset, limit }): TrashPage => {
        const { store } = manager.trash;
        const { days } = manager.settings.app.trash;
        // First: what of it cannot be read is not counted.
        const rows = store.page(offset, limit);
        const { count, bytes } = store.totals();
        return {
          total: count,
          bytes,
          items: rows.map((row) => itemOf(row, days)),
        };
      },
    ),
    method('restoreTrash', z.strictObject({ gids: z.array(gid).max(20_000) }), async (p) => ({
      gids: await manager.restore(p.gids.map((one) => manager.trash.find(one))),
    })),
    method('emptyTrash', z.strictObject({ gids: gids.optional() }), (p) =>
      manager.trash.delete(
        p.gids?.map((one) => manager.trash.find(one)) ?? manager.trash.store.gids(),
      ),
    ),
  ];
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
