/**
 * Asks the depots of a file that was sent, or of an invitation: extends leases, deletes what is stored,
 * gives an upload up.
 */

import { rm } from 'node:fs/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import type { SharePlace } from '@millrace/shared/bridge/rpc/share-api';
import {
  allocationsOf,
  grantedEnd,
  type ManagedAllocation,
  withEnds,
} from '@millrace/shared/exnode/allocations';
import type { Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import { layoutOf } from '@millrace/shared/exnode/layout';
import { without } from '@millrace/shared/exnode/trim';
import type { KeptShare } from '../store/share-store.ts';
import { replaceCopies } from '../stored/document-copies.ts';
import { manageAllocations, type Outcome } from '../stored/manage-allocations.ts';
import { extend, release } from '../upload/depot-client.ts';
import { isGone } from '../upload/reserve.ts';
import { rememberedUploads } from '../upload/upload-journal.ts';

/** Answers of the depots of a file. */
export interface Asked {
  /** The exNode afterwards, if it is one that has changed. */
  readonly exnode?: Exnode;
  /** The first failure of a depot. */
  readonly error: MillraceError | undefined;
  readonly change: Partial<KeptShare>;
}

/**
 * Extends all leases of a file, or that of an invitation.
 *
 * @param exnodeOf reads the exNode of a file
 * @param seconds time from now
 * @param now Unix milliseconds
 */
export async function extendStored(
  { invitation, places }: KeptShare,
  exnodeOf: () => Exnode,
  { seconds, now, signal }: { seconds: number; now: () => Millis; signal: AbortSignal },
): Promise<Asked> {
  const forMs = seconds * 1000;
  const send = async (manage: string, own: AbortSignal) =>
    grantedEnd(await extend(manage, Math.ceil(seconds), own), now(), now() + forMs);
  const exnode = invitation === undefined ? exnodeOf() : undefined;
  const allocations = allocationsIn(exnode, invitation);
  const outcomes = await manageAllocations(allocations, send, signal);
  const error = firstError(outcomes.values());
  const ends = [...outcomes].flatMap(([allocation, outcome]) =>
    'value' in outcome ? [[allocation, outcome.value] as const] : [],
  );
  if (exnode === undefined) {
    const [, expires] = ends[0] ?? [];
    if (expires === undefined) return { error, change: {} };
    const kept = places?.map((place) => ({ ...place, expires }));
    return { error, change: { seconds, expires, places: kept } };
  }
  const after = withEnds(exnode, new Map(ends));
  // A copy that stays as it was leads to the file too: of old ends, all of its places are asked.
  if (ends.length > 0) await replaceCopies(after, signal);
  const change = { seconds, expires: firstEnd(after), places: placesOf(after) };
  return { exnode: after, error, change };
}

/** Deletes a file at all of its depots, or ends an invitation. What is gone counts as deleted. */
export async function revokeStored(
  { invitation }: KeptShare,
  exnodeOf: () => Exnode,
  signal: AbortSignal,
): Promise<Asked> {
  const exnode = invitation === undefined ? exnodeOf() : undefined;
  const allocations = allocationsIn(exnode, invitation);
  const outcomes = await manageAllocations(allocations, released, signal);
  const error = firstError(outcomes.values());
  const gone: Partial<KeptShare> = { state: 'revoked', link: undefined };
  // The depot is all that an invitation has for a name.
  if (exnode === undefined) return { error, change: error === undefined ? gone : {} };
  const change = error === undefined ? { ...gone, places: [] } : {};
  const removed = allocations.filter((one) => 'value' in (outcomes.get(one) ?? {}));
  return { exnode: without(exnode, removed), error, change };
}

function allocationsIn(
  exnode: Exnode | undefined,
  invitation: KeptShare['invitation'],
): readonly ManagedAllocation[] {
  if (exnode !== undefined) return allocationsOf(exnode);
  const { manage } = invitation as { manage: string };
  return [{ depot: new URL(manage).origin, manage, replicas: [] }];
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

/** Lists the depots that have a file. @param isThere tells of replicas whether they count */
export function placesOf(
  exnode: Exnode,
  isThere: (replica: ExnodeReplica) => boolean = () => true,
): SharePlace[] {
  return layoutOf(exnode, isThere)
    .depots.filter(({ replicas }) => replicas > 0)
    .map(({ depot, bytes, expires }) => ({ depot, bytes, expires }));
}

/** Returns the first end of a lease. @param isThere tells of replicas whether they count */
export function firstEnd(
  exnode: Exnode,
  isThere: (replica: ExnodeReplica) => boolean = () => true,
): Millis | undefined {
  return layoutOf(exnode, isThere).expires;
}

async function released(manage: string, signal: AbortSignal): Promise<void> {
  await release(manage, signal).catch((error: unknown) => {
    if (!isGone(error)) throw error;
  });
}

function firstError(outcomes: Iterable<Outcome<unknown>>): MillraceError | undefined {
  return [...outcomes].flatMap((one) => ('error' in one ? [one.error] : []))[0];
}
