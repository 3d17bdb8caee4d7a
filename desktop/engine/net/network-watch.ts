/**
 * Waits until the network may be back. No system tells Node of changes, so addresses and clocks are
 * polled now and then, but only while there is a waiter.
 */

import { networkInterfaces } from 'node:os';
import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import { type NetworkLook, NetworkState } from '@millrace/shared/download/transfer/network-state';

/**
 * Interval between checks of addresses and clocks, in milliseconds; one check takes some tens of
 * microseconds.
 */
const LOOK_MS = 2000;
/** Longest time that a timer can run, in milliseconds; later deadlines take several timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const AWAY = new Set(['ENETDOWN', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'EAI_AGAIN']);
/** Codes that mean a missing network only if this machine has no address. */
const PERHAPS_AWAY = new Set(['ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']);

/** Returns the addresses of all interfaces except loopback, each with its interface. */
export function networkAddresses(): string[] {
  try {
    return Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
      all.filter((each) => !each.internal).map((each) => `${name}/${each.address}`),
    );
  } catch {
    return []; // some systems do not report interfaces
  }
}

/**
 * Returns true if a failure means that this machine has no network, and says nothing about the
 * server.
 *
 * @param addresses number of this machine's addresses
 */
export function networkSeemsAway(
  error: MillraceError,
  addresses = networkAddresses().length,
): boolean {
  const codes = errorCodes(error);
  return codes.some((code) => AWAY.has(code) || (addresses === 0 && PERHAPS_AWAY.has(code)));
}

/**
 * Waits until the network may be back.
 *
 * @param deadline time to stop waiting, on the clock of `performance.now()`; may be infinite. The
 *   process stays alive until then.
 * @param addresses returns the machine's addresses at each check
 * @returns why the wait ended
 * @throws the signal's reason
 */
export function waitForNetworkChange(
  deadline: Millis,
  signal: AbortSignal,
  addresses: () => readonly string[] = networkAddresses,
): Promise<'changed' | 'woke' | 'deadline'> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const look = (): NetworkLook => ({
      addresses: addresses(),
      now: performance.now(),
      wallNow: Date.now(),
    });
    const state = new NetworkState(look());
    let timer: NodeJS.Timeout;
    const end = () => {
      clearInterval(looking);
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = () => {
      end();
      reject(signal.reason);
    };
    const finish = (why: 'changed' | 'woke' | 'deadline') => {
      end();
      resolve(why);
    };
    const looking = setInterval(() => {
      const why = state.observe(look(), LOOK_MS);
      if (why !== undefined) finish(why);
    }, LOOK_MS).unref();
    const arm = () => {
      const left = deadline - performance.now();
      timer = setTimeout(
        left > MAX_TIMER_MS ? arm : () => finish('deadline'),
        Math.max(0, Math.min(MAX_TIMER_MS, left)),
      );
    };
    arm();
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Returns the codes of an error and of its causes, a few levels deep. */
export function errorCodes(error: unknown): string[] {
  const codes: string[] = [];
  let level: unknown[] = [error];
  for (let depth = 0; depth < 4; depth++) {
    level = level.flatMap((each) => {
      const { code, cause, errors } = Object(each) as Record<string, unknown>;
      if (typeof code === 'string') codes.push(code);
      return [cause, ...(Array.isArray(errors) ? errors : [])].filter((next) => next !== undefined);
    });
  }
  return codes;
}
