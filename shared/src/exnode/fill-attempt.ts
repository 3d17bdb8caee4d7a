/** Attempts at a replica that is added: by its depot, or by the client. */

/** A way of filling a replica: its depot pulls the bytes, or the client reads and appends them. */
export type FillWay = 'pull' | 'feed';

/** The next attempt at a replica. `anew`: in another allocation, since this one has wrong bytes. */
export type NextAttempt =
  | { readonly way: 'feed'; readonly anew: boolean }
  /** The depot is left: it has stored other bytes than it was sent. */
  | 'depot-failed';

/**
 * Decides what follows when a replica could not be pulled, or has other digests than it shall have.
 * The client compares each block before it sends it, so what it alone has sent is right.
 *
 * @param way of the attempt that has failed
 * @param stored bytes that were stored when the attempt began
 * @param failure `unreachable` if the depot could not get the bytes; `wrong` if it has wrong ones
 */
export function nextAttempt(
  way: FillWay,
  stored: number,
  failure: 'unreachable' | 'wrong',
): NextAttempt {
  if (failure === 'unreachable') return { way: 'feed', anew: false };
  return way === 'feed' && stored === 0 ? 'depot-failed' : { way: 'feed', anew: true };
}
