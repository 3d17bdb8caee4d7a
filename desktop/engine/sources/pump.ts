/** Reads bodies piece by piece, as fast as the receiver takes them. */

import type { HttpStream } from '@millrace/shared/node/http-client';
import type { RoomForPiece, TakePiece } from '@millrace/shared/node/piece-reader';

/**
 * Passes the body on piece by piece, and makes the source wait while `take` is not ready. Resolves
 * once all pieces have been taken: the body may end before that.
 *
 * @throws the error of `take`, or of the body
 */
export async function pump(
  response: HttpStream,
  take: (piece: Buffer) => Promise<void> | undefined,
  room?: RoomForPiece,
): Promise<void> {
  let failure: unknown;
  /** Settles when the last piece has been taken; undefined: it has. */
  let waiting: Promise<void> | undefined;
  const fail = (error: unknown) => {
    failure ??= error;
    response.discard();
  };
  try {
    const piped: TakePiece = (piece, resume) => {
      if (failure !== undefined) return true;
      try {
        // Of one read several pieces may come, although the receiver is not ready for the second.
        const copy = waiting && Buffer.from(piece);
        const takeLate = () => (failure === undefined && copy ? take(copy) : undefined);
        const wait = copy === undefined ? take(piece) : waiting?.then(takeLate);
        if (wait === undefined) return true;
        const mine = wait.then(() => {
          if (waiting !== mine) return;
          waiting = undefined;
          resume();
        }, fail);
        waiting = mine;
        return false;
      } catch (error) {
        fail(error);
        return true;
      }
    };
    await response.pipe(piped, room);
    await waiting;
  } catch (error) {
    throw failure ?? error;
  }
  if (failure !== undefined) throw failure;
}
