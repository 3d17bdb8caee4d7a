/** `/outgoing/FILE?at=OFFSET`: takes the pieces of a file that a page copies to the daemon. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { OUTGOING_PATH, OUTGOING_PIECE_BYTES } from '@millrace/shared/bridge/rpc/share-api';
import type { Outgoing } from '../shares/outgoing.ts';

/** Answers a request that the guard has accepted. @param trusted whether its sender is known */
export async function takePiece(
  req: IncomingMessage,
  res: ServerResponse,
  outgoing: Outgoing,
  trusted: boolean,
): Promise<void> {
  res.setHeader('cache-control', 'no-store');
  const end = (status: number) => {
    // The body of a refused request is not read.
    if (!req.complete) res.setHeader('connection', 'close');
    res.writeHead(status).end();
  };
  if (!trusted) return end(401);
  if (req.method !== 'PUT') return end(405);
  const { pathname, searchParams } = new URL(req.url ?? '', 'http://x');
  const at = Number(searchParams.get('at') ?? 'none');
  const length = Number(req.headers['content-length'] ?? 'none');
  if (!Number.isSafeInteger(at) || at < 0) return end(400);
  if (!(length <= OUTGOING_PIECE_BYTES)) return end(413);
  const taken = await outgoing.take(pathname.slice(OUTGOING_PATH.length), at, req);
  end(taken === undefined ? 409 : 204);
}
