/** Asks the depots of a file that was sent: extends its leases, deletes it, gives an upload up. */

import { rm } from 'node:fs/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import type { SharePlace } from '@millrace/shared/bridge/rpc/share-api';
import { allocationsOf, grantedEnd, withEnds } from '@millrace/shared/exnode/allocations';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { layoutOf } from '@millrace/shared/exnode/layout';
import { without } from '@millrace/shared/exnode/trim';
import { replaceCopies } from '../stored/document-copies.ts';
import { manageAllocations, type Outcome } from '../stored/manage-allocations.ts';
import { extend, release } from '../upload/depot-client.ts';
import { isGone } from '../upload/reserve.ts';
import { rememberedUploads } from '../upload/upload-journal.ts';

export interface Asked {
  /** The exNode afterwards. */
  readonly exnode: Exnode;
  /** The first failure of a depot. */
  readonly error: MillraceError | undefined;
}

/** Extends all leases. @param forMs time from now @param now Unix milliseconds */
export async function extendAll(
  exnode: Exnode,
  forMs: Millis,
  now: () => Millis,
  signal: AbortSignal,
): Promise<Asked> {
  const send = async (manage: string, own: AbortSignal) => {
    const told = await extend(manage, Math.ceil(forMs / 1000), own);
    return grantedEnd(told, now(), now() + forMs);
  };
  const outcomes = await manageAllocations(allocationsOf(exnode), send, signal);
  const ends = [...outcomes].flatMap(([allocation, outcome]) =>
    'value' in outcome ? [[allocation, outcome.value] as const] : [],
  );
  const after = withEnds(exnode, new Map(ends));
  // A copy that stays as it was leads to the file too: of old ends, all of its places are asked.
  if (ends.length > 0) await replaceCopies(after, signal);
  return { exnode: after, error: firstError(outcomes.values()) };
}

/** Deletes a file at all of its depots. What is gone already counts as deleted. */
export async function revokeAll(exnode: Exnode, signal: AbortSignal): Promise<Asked> {
  const allocations = allocationsOf(exnode);
  const outcomes = await manageAllocations(allocations, released, signal);
  const removed = allocations.filter((one) => 'value' in (outcomes.get(one) ?? {}));
  return { exnode: without(exnode, removed), error: firstError(outcomes.values()) };
}

/**
 * Gives an upload up that is not complete, and frees its space.
 *
 * @param state folder of its journals, which is deleted if all depots have agreed
 * @returns the first failure
 */
export async function abandonUpload(
  state: string,
  signal: AbortSignal,
): Promise<MillraceError | undefined> {
  let error: MillraceError | undefined;
  for (const { manage } of await rememberedUploads(state)) {
    await released(manage, signal).catch((thrown: unknown) => {
      error ??= asMillraceError(thrown);
    });
  }
  if (error === undefined) await rm(state, { recursive: true, force: true });
  return error;
}

/** Lists the depots that have a file. */
export function placesOf(exnode: Exnode): SharePlace[] {
  return layoutOf(exnode, () => true).depots.map(({ depot, bytes, expires }) => ({
    ...{ depot, bytes, expires },
  }));
}

/** Returns the first end of a lease. */
export function firstEnd(exnode: Exnode): Millis | undefined {
  return layoutOf(exnode, () => true).expires;
}

async function released(manage: string, signal: AbortSignal): Promise<void> {
  await release(manage, signal).catch((error: unknown) => {
    if (!isGone(error)) throw error;
  });
}

function firstError(outcomes: Iterable<Outcome<unknown>>): MillraceError | undefined {
  return [...outcomes].flatMap((one) => ('error' in one ? [one.error] : []))[0];
}
