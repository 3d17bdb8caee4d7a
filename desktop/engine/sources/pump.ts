/** Reads bodies piece by piece, as fast as the receiver takes them. */

import type { HttpStream } from '@millrace/shared/node/http-client';
import type { RoomForPiece, TakePiece } from '@millrace/shared/node/piece-reader';

/** Passes the body on piece by piece, and makes the source wait while `take` is not ready. */
export async function pump(
  response: HttpStream,
  take: (piece: Buffer) => Promise<void> | undefined,
  room?: RoomForPiece,
): Promise<void> {
  let failure: unknown;
  const fail = (error: unknown) => {
    failure ??= error;
    response.discard();
  };
  try {
    const piped: TakePiece = (piece, resume) => {
      if (failure !== undefined) return true;
      try {
        const wait = take(piece);
        wait?.then(resume, fail);
        return wait === undefined;
      } catch (error) {
        fail(error);
        return true;
      }
    };
    await response.pipe(piped, room);
  } catch (error) {
    throw failure ?? error;
  }
  if (failure !== undefined) throw failure;
}
