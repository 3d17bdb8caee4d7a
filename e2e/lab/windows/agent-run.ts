/**
 * One response in virtual time: the real agent (transfer, window, retry timer) at a node whose line
 * all fetches share. A fetch waits for a round trip, then gets an equal share of the line, or its
 * peer's rate if that is less (the rest goes to the other fetches). The client receives everything
 * at once. Left out: TCP's slow start, queues at the peers, other responses of the same node.
 */

import type { Random } from '@millrace/shared/base/clock';
import { DeliveryDriver } from '@millrace/shared/cdn/delivery/delivery-driver';
import { RetryTimer } from '@millrace/shared/cdn/delivery/retry-timer';
import type { CongestionWindow } from '@millrace/shared/cdn/delivery/window';

/** The peer of a fetch, drawn for every attempt: each goes to another peer. */
export interface Peer {
  /** Bytes per millisecond. */
  readonly rate: number;
  readonly rttMs: number;
}

export interface AgentRun {
  readonly chunks: number;
  readonly chunkBytes: number;
  /** Rate of the node's line, bytes per millisecond. */
  readonly lineRate: number;
  readonly window: CongestionWindow;
  /** Draws the peer of an attempt at a chunk. */
  readonly peer: (chunk: number, attempt: number) => Peer;
  readonly random: Random;
}

export interface AgentResult {
  readonly ms: number;
  /** Further attempts at chunks. */
  readonly retries: number;
  /** Bytes of unsuccessful attempts. */
  readonly wastedBytes: number;
  /** Sizes of the window, after each change. */
  readonly windows: readonly (readonly [chunksDone: number, size: number])[];
  /** False if the response failed. */
  readonly complete: boolean;
}

interface Fetch {
  readonly slice: number;
  readonly attempt: number;
  readonly peer: Peer;
  readonly beginsAt: number;
  left: number;
  /** Current rate, bytes per millisecond. */
  rate: number;
}

/** Remainder in bytes that counts as none: rounding must not leave a fraction for ever. */
const ALMOST_NONE = 1e-3;

export function runAgent(run: AgentRun): AgentResult {
  const fetches = new Map<string, Fetch>();
  const windows: [number, number][] = [[0, run.window.size]];
  let [now, done, retries, wasted] = [0, 0, 0, 0];
  const came = new Map<number, number>();
  let wake: { readonly at: number; readonly run: () => void } | undefined;
  let complete: boolean | undefined;
  const driver: DeliveryDriver = new DeliveryDriver(
    {
      slices: run.chunks,
      inOrder: true,
      window: run.window,
      timer: new RetryTimer(),
      random: run.random,
      progressAt: (slice) => came.get(slice),
    },
    {
      now: () => now,
      at: (at, run) => {
        wake = { at, run };
        return () => {};
      },
      fetch: (slice, attempt) => {
        const peer = run.peer(slice, attempt);
        const key = `${slice} ${attempt}`;
        if (attempt > 0) retries++;
        const begun = { slice, attempt, peer, beginsAt: now + peer.rttMs, left: run.chunkBytes };
        fetches.set(key, { ...begun, rate: 0 });
        return () => {
          const fetch = fetches.get(key);
          if (fetch !== undefined) wasted += run.chunkBytes - fetch.left;
          fetches.delete(key);
        };
      },
      send: (slice) => driver.sent(slice),
      ended: (error) => {
        complete = error === undefined;
      },
    },
  );
  driver.advance();
  while (complete === undefined) {
    share(
      [...fetches.values()].filter(({ beginsAt }) => beginsAt <= now),
      run.lineRate,
    );
    const next = nextEvent(fetches.values(), now, wake?.at);
    for (const fetch of fetches.values()) {
      if (fetch.beginsAt > now) continue;
      fetch.left -= fetch.rate * (next - now);
      came.set(fetch.slice, next);
    }
    now = next;
    for (const [key, fetch] of [...fetches]) {
      if (fetch.left > ALMOST_NONE || !fetches.delete(key)) continue;
      done++;
      driver.fetched(fetch.slice, fetch.attempt, false);
      if (run.window.size !== windows.at(-1)?.[1]) windows.push([done, run.window.size]);
    }
    if (wake !== undefined && wake.at <= now) {
      const { run } = wake;
      wake = undefined;
      run();
    }
  }
  return { ms: now, retries, wastedBytes: wasted, windows, complete };
}

/** Divides the line equally; fetches that cannot use their share get less (max-min fairness). */
function share(fetches: Fetch[], lineRate: number): void {
  let left = lineRate;
  let count = fetches.length;
  for (const fetch of fetches.sort((a, b) => a.peer.rate - b.peer.rate)) {
    fetch.rate = Math.min(fetch.peer.rate, left / count);
    left -= fetch.rate;
    count--;
  }
}

/** Time of the next event: a fetch's first or last byte, or the agent's deadline. */
function nextEvent(fetches: Iterable<Fetch>, now: number, deadline: number | undefined): number {
  let next = deadline === undefined ? Number.POSITIVE_INFINITY : Math.max(now, deadline);
  for (const { beginsAt, left, rate } of fetches) {
    next = Math.min(next, beginsAt > now ? beginsAt : now + Math.max(0, left) / rate);
  }
  return next;
}
