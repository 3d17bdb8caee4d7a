/**
 * Sends requests about allocations to their depots: several depots at a time, each about one
 * allocation after the other.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { ManagedAllocation } from '@millrace/shared/exnode/allocations';
import { DEPOTS_AT_A_TIME, patiently } from '../net/depot-pace.ts';
import { inParallel } from '../sync/in-parallel.ts';

/** Outcome of a request: what the depot has granted, or why it has not. */
export type Outcome<T> = { readonly value: T } | { readonly error: MillraceError };

/** Longest time for one request. */
const REQUEST_MS: Millis = 60_000;

/**
 * Sends a request about each allocation. A depot that is silent is not asked about its further ones.
 * After an interruption nothing more is asked.
 *
 * @param send asks a depot. @throws MillraceError
 * @returns an outcome for each allocation
 */
export async function manageAllocations<T>(
  allocations: readonly ManagedAllocation[],
  send: (manage: string, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<Map<ManagedAllocation, Outcome<T>>> {
  const outcomes = new Map<ManagedAllocation, Outcome<T>>();
  const depots = [...Map.groupBy(allocations, ({ depot }) => depot).values()];
  await inParallel(depots, { atATime: DEPOTS_AT_A_TIME }, async (own) => {
    let silent: MillraceError | undefined;
    for (const allocation of own) {
      const { manage } = allocation;
      if (manage === undefined) continue;
      const outcome: Outcome<T> =
        silent !== undefined ? { error: silent } : await outcomeOf(manage, send, signal);
      if ('error' in outcome && outcome.error.code.startsWith('origin-')) silent = outcome.error;
      outcomes.set(allocation, outcome);
    }
  });
  return outcomes;
}

async function outcomeOf<T>(
  manage: string,
  send: (manage: string, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<Outcome<T>> {
  const once = async () => {
    const late = AbortSignal.timeout(REQUEST_MS);
    try {
      return await send(manage, AbortSignal.any([signal, late]));
    } catch (error) {
      if (signal.aborted || !late.aborted) throw error;
      throw new MillraceError('origin-timeout', 'the depot does not answer');
    }
  };
  try {
    return { value: await patiently(once, signal) };
  } catch (error) {
    return { error: signal.aborted ? new MillraceError('interrupted') : asMillraceError(error) };
  }
}
