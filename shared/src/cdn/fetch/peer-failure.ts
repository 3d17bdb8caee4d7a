import type { MillraceError } from '../../base/errors.ts';

/** A failure of a peer, not of the origin: another node may well have the chunk. */
export class PeerFailure extends Error {
  readonly peer: string;
  /** Error for the client if no other node can help. */
  readonly reason: MillraceError;

  constructor(peer: string, reason: MillraceError) {
    super(`${peer}: ${reason.message}`);
    this.peer = peer;
    this.reason = reason;
  }
}
