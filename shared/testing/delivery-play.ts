/** Plays deliveries in virtual time, for tests of `DeliveryMachine`; for Jest only. */

import { expect } from '@jest/globals';
import type { MillraceError } from '../src/base/errors.ts';
import { type DeliveryAction, DeliveryMachine } from '../src/cdn/delivery/delivery.ts';
import { RetryTimer } from '../src/cdn/delivery/retry-timer.ts';
import { CongestionWindow } from '../src/cdn/delivery/window.ts';

/** How one attempt ends; undefined: it never does. */
export type Answer =
  | {
      afterMs: number;
      error?: MillraceError;
      bytesEveryMs?: number;
      /** From then on nothing more comes, not even an end. */
      stalls?: boolean;
      local?: boolean;
      overtaken?: boolean;
    }
  | undefined;

export interface Play {
  slices: number;
  source: (slice: number, attempt: number, now: number) => Answer;
  inOrder?: boolean;
  /** Bounds of the window. */
  max?: number;
  initial?: number;
  random?: () => number;
  /** How long the client takes for a slice. */
  clientMs?: (slice: number) => number;
  /** Whether there is memory for more than one slice. */
  spare?: () => boolean;
  waitsForMemory?: () => boolean;
  /** Whether the client has got a part of the response. */
  hasBegun?: () => boolean;
}

type Entry = DeliveryAction & { at: number };

/** Plays a delivery to its end in virtual time, and checks the rules that always apply. */
export function play(o: Play) {
  const window = new CongestionWindow({ max: o.max ?? 4, initial: o.initial ?? o.max ?? 4 });
  const timer = new RetryTimer();
  const progress = new Map<number, number>();
  const transfer = new DeliveryMachine({
    slices: o.slices,
    inOrder: o.inOrder ?? true,
    window,
    timer,
    random: o.random ?? (() => 0.5),
    progressAt: (slice) => progress.get(slice),
    ...(o.spare === undefined ? {} : { spare: o.spare }),
    ...(o.waitsForMemory === undefined ? {} : { waitsForMemory: o.waitsForMemory }),
    ...(o.hasBegun === undefined ? {} : { hasBegun: o.hasBegun }),
  });
  const log: Entry[] = [];
  let due: { at: number; happen: () => void }[] = [];
  const running = new Map<number, Set<number>>();
  const unsent = new Set<number>();
  const taking = new Set<number>();
  let now = 0;
  let end: DeliveryAction | undefined;
  const later = (ms: number, happen: () => void) => due.push({ at: now + ms, happen });

  function carryOut(action: DeliveryAction): void {
    expect(end).toBeUndefined();
    log.push({ at: now, ...action });
    if (action.kind === 'fetch') return fetch(action.slice, action.attempt);
    if (action.kind === 'cancel') {
      expect(running.get(action.slice)?.delete(action.attempt)).toBe(true);
    } else if (action.kind === 'send') {
      taking.add(action.slice);
      expect(taking.size).toBeLessThanOrEqual(4);
      later(o.clientMs?.(action.slice) ?? 0, () => {
        taking.delete(action.slice);
        unsent.delete(action.slice);
        transfer.onSent(action.slice, now);
      });
    } else end = action;
  }

  function fetch(slice: number, attempt: number): void {
    const attempts = running.get(slice) ?? new Set();
    running.set(slice, attempts.add(attempt));
    expect(attempts.size).toBeLessThanOrEqual(2);
    unsent.add(slice);
    const most = o.spare?.() === false ? 1 : window.limit;
    if (attempt === 0) expect(unsent.size).toBeLessThanOrEqual(most);
    const answer = o.source(slice, attempt, now);
    if (answer === undefined) return;
    const {
      afterMs,
      error,
      bytesEveryMs = afterMs,
      local = false,
      stalls = false,
      overtaken,
    } = answer;
    for (let ms = bytesEveryMs; ms < afterMs; ms += bytesEveryMs) {
      later(ms, () => {
        if (attempts.has(attempt)) progress.set(slice, now);
      });
    }
    if (stalls) return;
    later(afterMs, () => {
      if (!attempts.delete(attempt)) return; // cancelled meanwhile
      if (error !== undefined) transfer.onFailed(slice, attempt, error, now);
      else {
        const actions = transfer.onFetched(slice, attempt, now, local, overtaken);
        for (const action of actions) carryOut(action);
      }
    });
  }

  for (let turns = 0; end === undefined || due.length > 0; turns++) {
    if (turns > 200_000) throw new Error('the transfer never ends');
    for (;;) {
      const actions = transfer.step(now);
      for (const action of actions) carryOut(action);
      if (actions.length === 0 || end !== undefined) break;
    }
    const deadline = transfer.nextDeadline() ?? Number.POSITIVE_INFINITY;
    // Once `step` has nothing more to do, the next deadline is ahead; clocks move meanwhile.
    expect(deadline).toBeGreaterThanOrEqual(now);
    const next = due.reduce((first, { at }) => Math.min(first, at), deadline);
    now = deadline === now ? now + 0.001 : next;
    if (now === Number.POSITIVE_INFINITY && end === undefined) throw new Error('deadlock');
    const events = due.filter(({ at }) => at <= now);
    due = due.filter(({ at }) => at > now);
    for (const { happen } of events) happen();
  }
  expect(transfer.step(now)).toEqual([]);
  expect(transfer.nextDeadline()).toBeUndefined();
  const times = (kind: string, slice: number) =>
    log.filter((e) => e.kind === kind && 'slice' in e && e.slice === slice).map((e) => e.at);
  const sent = log.flatMap((e) => (e.kind === 'send' ? [e.slice] : []));
  return { log, end, sent, window, timer, times };
}
