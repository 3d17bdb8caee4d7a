/** Requests of simulated nodes for chunks, to each other and to the origin, over the wires. */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { Path, SimNode } from './node.ts';
import { Flow, type Host, NarrowWire } from './wire.ts';
import type { World } from './world.ts';

/** Longest time to establish a connection. */
const CONNECT_TIMEOUT_MS = 2000;

export interface Asking {
  readonly from: SimNode;
  readonly to: SimNode;
  readonly chunk: number;
  /** Path of the request so far, as the asked node is told. */
  readonly path: Path;
  /** True if the node is to send the chunk only if it has it, or fetches it from the origin. */
  readonly ifHeld: boolean;
  readonly signal: AbortSignal;
  readonly observer: AttemptObserver;
}

/**
 * Requests a chunk from a node.
 *
 * @throws PeerFailure if the node is to blame; the origin's error or the signal's reason
 */
export function askPeer(asking: Asking): Promise<void> {
  const { from, to, chunk, path, ifHeld, signal, observer } = asking;
  const { sim, o } = from.world;
  const { clock } = sim;
  const delayMs = from.world.delayMs(from, to);
  const connected = () => from.world.isConnected(from, to);
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    let flow: Flow | undefined;
    let over = false;
    let serving = false;
    let atPeer = 0;
    const stopServing = () => {
      if (!serving) return;
      serving = false;
      to.transfers--;
      to.connections.delete(breakOff);
      flow?.cancel();
      // Once the chunk is being sent there is nothing to abort, and signals are expensive.
      if (flow === undefined) controller.abort(new MillraceError('interrupted', 'the peer left'));
    };
    const end = (how: () => void) => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', onAbort);
      how();
    };
    const onAbort = () => {
      end(() => reject(signal.reason));
      // Cancels the flow at once, so that it sends no further piece, and the rest when the news
      // arrives.
      flow?.cancel();
      clock.in(delayMs, stopServing);
    };
    const refuse = (code: 'origin-unreachable' | 'origin-reset' | 'loop-detected', ms: number) =>
      clock.in(ms, () => end(() => reject(new PeerFailure(to.name, new MillraceError(code)))));
    const breakOff = () => {
      stopServing();
      refuse('origin-reset', delayMs);
    };
    const reached = (bytes: number) => {
      from.heard.set(to.name, clock.now);
      if (over || bytes < atPeer) return;
      observer.onBytes(bytes - atPeer);
      atPeer = bytes;
    };
    const tellProgress = () => {
      sim.quiet();
      if (!serving || over || flow !== undefined) return;
      const bytes = Math.floor(to.flights.share(String(chunk), path) * o.chunkBytes);
      if (connected()) {
        clock.in(delayMs, () => {
          sim.quiet();
          reached(bytes);
        });
      }
      clock.in(o.interimMs, tellProgress);
    };
    const send = () => {
      if (!serving) return;
      to.served++;
      let first: { readonly at: number; readonly bytes: number } | undefined;
      let come = 0;
      flow = new Flow(sim, {
        from: to,
        to: from,
        delayMs,
        bytes: o.chunkBytes,
        pieceBytes: o.pieceBytes,
        connected,
        onBytes(count, left) {
          reached(o.chunkBytes);
          if (over) return;
          come += count;
          first ??= { at: clock.now, bytes: come };
          const [bytes, ms] = [come - first.bytes, clock.now - first.at];
          from.speeds.onBytes(to.name, bytes, ms, o.chunkBytes, left === 0, clock.now);
          observer.onBytes(count);
          if (left > 0) return;
          stopServing();
          from.view.onLoad(to.name, to.load);
          end(resolve);
        },
      });
    };
    const arrive = () => {
      if (over) return;
      if (to.state === 'gone') return refuse('origin-unreachable', delayMs);
      if (!connected()) {
        // On an existing connection, a dead node goes unnoticed.
        if (!from.heard.has(to.name)) refuse('origin-unreachable', CONNECT_TIMEOUT_MS);
        return;
      }
      if (path.via.includes(to.name)) return refuse('loop-detected', delayMs);
      serving = true;
      to.transfers++;
      to.connections.add(breakOff);
      if (ifHeld && to.holds(chunk)) clock.in(delayMs, () => reached(0));
      if (to.cache.has(chunk)) return send();
      if (ifHeld && !to.holds(chunk)) {
        stopServing();
        return clock.in(delayMs, () => end(() => reject(new MillraceError('not-cached'))));
      }
      clock.in(o.interimMs, tellProgress);
      to.get(chunk, controller.signal, path).then(send, (error: unknown) => {
        if (!serving) return;
        stopServing();
        const reason = asMillraceError(error instanceof PeerFailure ? error.reason : error);
        const own = reason.code === 'internal' || reason.code === 'loop-detected';
        clock.in(delayMs, () => end(() => reject(own ? new PeerFailure(to.name, reason) : reason)));
      });
    };
    signal.addEventListener('abort', onAbort, { once: true });
    observer.onSent();
    if (from.state !== 'up') return; // frozen: nothing leaves the node
    clock.in(delayMs, arrive);
  });
}

/** Requests a chunk from the origin. @throws the signal's reason */
export function askOrigin(
  from: SimNode,
  signal: AbortSignal,
  observer: AttemptObserver,
): Promise<void> {
  const { world } = from;
  const { origin, sim, o } = world;
  const delayMs = world.delayMs(from, origin);
  return new Promise((resolve, reject) => {
    let flow: Flow | undefined;
    let over = false;
    const onAbort = () => {
      over = true;
      flow?.cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    observer.onSent();
    if (from.state !== 'up') return;
    sim.clock.in(delayMs, () => {
      if (over || origin.silent) return;
      flow = new Flow(sim, {
        from: originHost(world),
        to: from,
        delayMs,
        bytes: o.chunkBytes,
        pieceBytes: o.pieceBytes,
        connected: () => from.state === 'up',
        onBytes(count, left) {
          if (over) return;
          observer.onBytes(count);
          if (left > 0) return;
          over = true;
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      });
    });
  });
}

/** The origin at the end of a new connection. */
function originHost({ origin, sim, o }: World): Host {
  const { share, mbit } = o.slowConnections ?? { share: 0, mbit: 0 };
  if (share === 0 || sim.random() >= share) return origin;
  return { up: new NarrowWire(origin.up, mbit), down: origin.down };
}
