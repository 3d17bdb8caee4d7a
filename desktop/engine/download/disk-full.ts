/** Goes on with a transfer once a disk that was full has room again. */

import { isMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import { noteOfError } from '@millrace/shared/base/notes';
import { waitForRoom } from '../partial/wait-for-room.ts';
import type { DownloadWay } from './download-way.ts';

/**
 * Fetches, and again after each wait for room.
 *
 * @throws the errors of `fetch`; `disk-full` if no room comes in time
 */
export async function whileDiskIsFull(
  way: Pick<DownloadWay, 'request' | 'context' | 'report' | 'file' | 'session'>,
  fetch: () => Promise<void>,
): Promise<void> {
  const { request, context, report, file, session } = way;
  for (;;) {
    try {
      return await fetch();
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isMillraceError(error, 'disk-full')) throw error;
      report.setState('waiting-for-room');
      report.note(noteOfError('waits-for-room', error as MillraceError));
      const waitMs = context.yieldsAfterMs ?? request.retryForMs;
      if (await waitForRoom(file, waitMs, session.now, context.signal)) continue;
      throw error;
    }
  }
}
