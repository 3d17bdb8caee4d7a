/**
 * Replaces an exNode: the one kind of file in a depot that may change, because its owner adds and
 * removes what it lists. The new bytes get a folder of their own, and the head names it, so that after a
 * crash one edition is there as a whole. Requests that read the former one read it to its end.
 */

import { createHash } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { syncFolder } from '@millrace/shared/node/files/replace-file';
import { Allocation, editionFolder } from './allocation.ts';
import { append } from './append.ts';
import type { Depot } from './depot.ts';

/** Clocks of the depot: monotonic and Unix milliseconds. */
interface Clocks {
  readonly now: () => Millis;
  readonly wallClock: () => Millis;
}

/**
 * Replaces the content of a complete allocation; resolves when it is durable, and other nodes know. The
 * caller has the turn at the allocation.
 *
 * @param bytes are gone afterwards
 * @throws MillraceError `allocation-refused`, `content-blocked`, `allocation-expired`
 */
export async function replaceContent(
  depot: Depot,
  allocation: Allocation,
  bytes: Buffer,
  { now, wallClock }: Clocks,
): Promise<void> {
  const { folder, head } = allocation;
  const edition = (head.edition ?? 0) + 1;
  // An append frees the memory of what it has written.
  const { length } = bytes;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (depot.blocked.has(sha256)) throw new MillraceError('content-blocked');
  depot.space.replace(allocation, length);
  try {
    await write(editionFolder(folder, edition), head, bytes, now);
    await syncFolder(folder);
    const final = { length, sha256, at: wallClock() };
    await depot.contents.setContent(allocation, { edition, final, bytes: length });
  } catch (error) {
    depot.space.replace(allocation, head.bytes);
    throw depot.diskError(error);
  }
  await remove(folder, head.edition);
  await depot.tell(allocation);
  await depot.onStored(allocation);
}

async function write(
  folder: string,
  head: Allocation['head'],
  bytes: Buffer,
  now: () => Millis,
): Promise<void> {
  // A process that was killed may have left one.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  for (const name of ['data', 'sums']) await (await open(join(folder, name), 'wx', 0o600)).close();
  const pieces = [bytes];
  await append(new Allocation(folder, head, 0, 0), {
    ...{ next: async () => pieces.shift(), makeRoom() {}, onAcknowledged() {}, now },
  });
  await syncFolder(folder);
}

/** Removes an edition. What stays of it after a crash goes with the allocation. */
async function remove(folder: string, edition: number | undefined): Promise<void> {
  const paths =
    edition === undefined
      ? [join(folder, 'data'), join(folder, 'sums')]
      : [editionFolder(folder, edition)];
  for (const path of paths) await rm(path, { recursive: true, force: true }).catch(() => {});
}
