/** Gives up requests to nodes that say nothing. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { PATIENCE_WITH_THE_LIVING } from '@millrace/shared/cdn/fetch/hedge';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { SilenceTimer } from '@millrace/shared/node/silence-timer';
import type { Membership } from './membership.ts';

interface Watching {
  readonly membership: Membership;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/**
 * Runs a request to a node until the node is silent.
 *
 * @param run sends the request; calls `alive` for each sign of life
 * @throws errors of `run`; PeerFailure if the node is silent; the signal's reason
 */
export async function unlessSilent<T>(
  { membership: { table }, now }: Watching,
  peer: string,
  signal: AbortSignal,
  run: (signal: AbortSignal, alive: () => void) => Promise<T>,
): Promise<T> {
  const silence = new AbortController();
  const silenceMs = table.silenceMs(peer);
  let signAt = now();
  const onSilent = () => {
    // A node that answers others is busy, and may come to this request any moment.
    const idleMs = now() - Math.max(signAt, table.get(peer)?.heardAt ?? 0);
    const busy = idleMs < silenceMs && now() - signAt < PATIENCE_WITH_THE_LIVING * silenceMs;
    if (busy) timer.heard();
    else silence.abort(new MillraceError('origin-timeout', 'a peer is silent'));
  };
  const timer = new SilenceTimer(silenceMs, onSilent);
  const alive = () => {
    signAt = now();
    timer.heard();
  };
  try {
    return await run(AbortSignal.any([signal, silence.signal]), alive);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw silence.signal.aborted ? new PeerFailure(peer, silence.signal.reason) : error;
  } finally {
    timer.stop();
  }
}
