/** Uploads a file that the user sends, by the engine of `millrace upload`, and keeps its exNode. */

import { rm } from 'node:fs/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { openSource } from '../archive/open-source.ts';
import type { UploadSource } from '../archive/upload-source.ts';
import { type FoundDepots, findDepots } from '../depots/find-depots.ts';
import type { KeptDepot } from '../settings/kept-depots.ts';
import type { KeptShare } from '../store/share-store.ts';
import { mayRetry, Retry } from '../upload/retry.ts';
import type { KeptHistory } from '../upload/spread/kept-history.ts';
import { type DepotAccess, spreadUpload } from '../upload/spread-upload.ts';
import { keptError, type ShareList } from './share-list.ts';
import { firstEnd, placesOf } from './stored-share.ts';

export interface ShareUpload {
  readonly id: string;
  readonly list: ShareList;
  /** Depots that are set up. */
  readonly known: readonly KeptDepot[];
  /** Folder of the upload's own journals: another one of the same file is not to take its space. */
  readonly folder: string;
  /** Remembers how depots have done. */
  readonly history: KeptHistory;
  readonly retryMs: Millis;
  /** Monotonic milliseconds. */
  readonly clock: () => Millis;
  readonly signal: AbortSignal;
}

/**
 * Uploads a file.
 *
 * @throws MillraceError as `spreadUpload`, `findDepots`; `owner-token-required`; `share-outdated` if the user has
 *   changed the file since
 */
export async function uploadShare(upload: ShareUpload): Promise<void> {
  const { id, list, signal } = upload;
  const share = list.get(id) as KeptShare;
  const source = await openSource(share.path, signal);
  try {
    checkUnchanged(share, source);
    await store(upload, share, source);
  } finally {
    await source.close();
  }
}

async function store(upload: ShareUpload, share: KeptShare, source: UploadSource): Promise<void> {
  const { id, list, known, folder, history, retryMs, clock, signal } = upload;
  const named = share.depots.map((edge) => {
    const token = known.find(({ url }) => url === edge)?.token;
    if (token === undefined) throw new MillraceError('owner-token-required', edge);
    return { edge, token };
  });
  const onSent = (sentBytes: number) => {
    if (list.get(id)?.trouble !== undefined) list.change(id, { trouble: undefined });
    list.setProgress(id, { sentBytes });
  };
  // The found depots are remembered in the folder of the upload, which is deleted in the end.
  const { depots } = await enough(upload, share, named);
  const spread = await spreadUpload({
    ...{ path: share.path, source, name: share.name, depots, copies: share.copies },
    encrypts: share.encrypts === true,
    history,
    ...{ forMs: share.seconds * 1000, state: folder, retryMs, signal, now: clock },
    observe: {
      begun: (_bytes, stored) => onSent(stored),
      sent: onSent,
      retried: (error) => list.change(id, { trouble: keptError(error) }),
      anew: () => onSent(0),
      copied: (stored) => list.setProgress(id, { copies: stored }),
      left: (_edge, error) => list.change(id, { trouble: keptError(error) }),
    },
  });
  const { exnode, links, files, wholes } = spread;
  const whole = share.encrypts === true ? undefined : (wholes[0] ?? files[0]);
  const stored: KeptShare = {
    ...(list.get(id) as KeptShare),
    ...{ state: 'shared', bytes: exnode.size, link: whole ?? links[0] },
    ...{ wholeFile: whole !== undefined, expires: firstEnd(exnode), trouble: undefined },
    places: placesOf(exnode),
  };
  list.keepExnode(stored, exnode);
  await spread.forget();
  await rm(folder, { recursive: true, force: true });
}

/** Finds further depots for more copies than depots. While the network is away, it is asked again. */
async function enough(
  { id, list, folder, history, retryMs, clock, signal }: ShareUpload,
  { copies, bytes, seconds }: KeptShare,
  named: readonly DepotAccess[],
): Promise<FoundDepots> {
  const onRetry = (error: MillraceError) => list.change(id, { trouble: keptError(error) });
  const retry = new Retry({ retryMs, signal, now: clock, onRetry });
  return retry.run(async () => {
    let away: MillraceError | undefined;
    const passed = (_edge: string, error: MillraceError) => {
      if (mayRetry(error)) away ??= error;
    };
    try {
      return await findDepots({
        ...{
          named,
          count: copies,
          bytes,
          forMs: seconds * 1000,
          upload: [id],
          state: folder,
          history,
        },
        ...{ signal, observe: { found: () => {}, passed } },
      });
    } catch (error) {
      throw isMillraceError(error, 'too-few-depots') && away !== undefined ? away : error;
    }
  });
}

/** @throws MillraceError `share-outdated` */
function checkUnchanged({ path, bytes, mtimeMs }: KeptShare, { state }: UploadSource): void {
  if (mtimeMs === undefined) return;
  if (state.bytes !== bytes || state.mtimeMs !== mtimeMs)
    throw new MillraceError('share-outdated', path);
}
