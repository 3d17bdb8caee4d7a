/** Methods for taking lists of downloads out and in. */

import { MillraceError } from '@millrace/shared/base/errors';
import { z } from 'zod';
import type { Manager } from '../daemon/manager.ts';
import type { NewDownload } from '../daemon/new-download.ts';
import { exportList, importList, type Listed } from '../store/exchange.ts';
import { readOptions, toNewDownload } from './aria2-options.ts';
import type { Method } from './dispatcher.ts';
import { method } from './millrace-methods.ts';
import { toJsonRpcError } from './rpc-error.ts';

const MAX_EXPORTED = 200_000;
const format = z.enum(['json', 'urls', 'aria2']);

export function exchangeMethods(manager: Manager): [string, Method][] {
  return [
    method(
      'export',
      z.strictObject({
        format,
        which: z.enum(['queue', 'history', 'all']).default('all'),
        secrets: z.boolean().default(false),
      }),
      (p) => {
        const queue = p.which === 'history' ? [] : manager.unfinished();
        const page = { offset: 0, limit: MAX_EXPORTED, oldestFirst: true };
        const history = p.which === 'queue' ? [] : manager.store.history({}, page).records;
        return { text: exportList([...queue, ...history], p.format, p.secrets) };
      },
    ),
    method(
      'import',
      z.strictObject({
        text: z.string(),
        format: format.optional(),
        paused: z.boolean().optional(),
        dir: z.string().min(1).optional(),
      }),
      (p) => {
        const gids: string[] = [];
        const skipped: { line: number; reason: string }[] = [];
        const list = importList(p.text, p.format);
        manager.atOnce(() => {
          for (const listed of list) {
            try {
              gids.push(importOne(manager, listed, p));
            } catch (error) {
              skipped.push({ line: listed.at, reason: toJsonRpcError(error).message });
            }
          }
        });
        return { gids, skipped };
      },
    ),
  ];
}

function importOne(
  manager: Manager,
  listed: Listed,
  { paused, dir }: { paused?: boolean | undefined; dir?: string | undefined },
): string {
  const given =
    listed.options === undefined ? {} : toNewDownload({}, readOptions(listed.options, false));
  const { gid, ...download } = { ...given, ...listed.download };
  const whole: NewDownload = { ...download, ...gidIfFree(manager, gid) };
  if (paused !== undefined) whole.paused = paused;
  if (dir !== undefined) whole.dir = dir;
  if (whole.category !== undefined && !knowsCategory(manager, whole.category)) {
    delete whole.category;
  }
  if (listed.ended !== undefined) return manager.addFinished(whole, listed.ended).gid;
  return manager.add(whole).gid;
}

function knowsCategory(manager: Manager, wanted: string): boolean {
  return manager.settings.categories.some(({ name }) => name === wanted);
}

/** A gid that is taken belongs to another download: this one gets a new one. */
function gidIfFree(manager: Manager, gid: string | undefined): { gid?: string } {
  if (gid === undefined) return {};
  try {
    manager.get(gid);
    return {};
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { gid };
  }
}
