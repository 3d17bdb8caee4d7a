import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { Owners } from '../policy/depot-owners.ts';
import type { Allocation } from './allocation.ts';
import { append } from './append.ts';
import { Depot } from './depot.ts';
import { replaceContent } from './replacement.ts';
import { readVerified } from './verified-read.ts';

const HOUR = 3_600_000;
const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: 1000, each: 1000 },
  ...{ forMs: Infinity, count: 20, rate: Infinity },
};
const owners = { named: () => ALICE } as unknown as Owners;
const { signal } = new AbortController();

let dir = '';
let depot: Depot;
let allocation: Allocation;
const open = () =>
  Depot.open({
    ...{ dir, quotaBytes: 1000, maxLeaseMs: HOUR, owners, log: silentLog },
    wallClock: () => 0,
  });

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-replace-'));
  depot = await open();
  const wanted = { bytes: 100, forMs: HOUR, resumable: true };
  ({ allocation } = await depot.allocate(ALICE, wanted));
  const pieces = [Buffer.alloc(100, 'a')];
  const next = async () => pieces.pop();
  await append(allocation, { next, makeRoom() {}, onAcknowledged() {}, now: () => 0 });
  await depot.contents.complete(allocation, signal);
});
afterEach(async () => {
  await depot.close();
  await rm(dir, { recursive: true, force: true });
});

const replaced = (bytes: Buffer) =>
  replaceContent(depot, allocation, bytes, { now: () => 0, wallClock: () => 0 });
async function content({ bytesFolder, head }: Allocation): Promise<string> {
  const pieces: Buffer[] = [];
  const range = { start: 0, end: head.final?.length ?? 0 };
  for await (const piece of readVerified(bytesFolder, range)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test('content that is replaced is there after a restart, and is charged', async () => {
  await replaced(Buffer.alloc(300, 'b'));
  expect([await content(allocation), depot.usedBytes]).toEqual(['b'.repeat(300), 300]);
  await replaced(Buffer.alloc(50, 'c'));
  const { id } = allocation.head;
  await depot.close();
  depot = await open();
  const found = depot.get(id) as Allocation;
  expect([await content(found), depot.usedBytes]).toEqual(['c'.repeat(50), 50]);
  expect(found.head).toMatchObject({ edition: 2, final: { length: 50 } });
  // Nothing of the earlier ones takes room.
  expect((await readdir(found.folder)).sort()).toEqual(['e2', 'head']);
});

test('a request that reads goes on with what it has begun', async () => {
  const reading = readVerified(allocation.bytesFolder, { start: 0, end: 100 });
  const first = reading.next();
  await replaced(Buffer.alloc(100, 'b'));
  expect((await first).value?.toString()).toBe('a'.repeat(100));
  expect((await reading.next()).done).toBe(true);
});

test('more than an owner may store is refused, and what is there stays', async () => {
  const refused = expect.objectContaining({ code: 'allocation-refused' });
  await expect(replaced(Buffer.alloc(1001, 'b'))).rejects.toEqual(refused);
  expect([await content(allocation), depot.usedBytes]).toEqual(['a'.repeat(100), 100]);
});

test('a process that was killed before the head named the new bytes has the old ones', async () => {
  const { id, edition } = allocation.head;
  await replaced(Buffer.alloc(10, 'b'));
  // The next one dies after it has written its bytes.
  const { setContent } = depot.contents;
  depot.contents.setContent = async () => {
    throw new Error('killed');
  };
  await expect(replaced(Buffer.alloc(20, 'c'))).rejects.toThrow('killed');
  depot.contents.setContent = setContent;
  await depot.close();
  depot = await open();
  allocation = depot.get(id) as Allocation;
  expect([edition, await content(allocation)]).toEqual([undefined, 'b'.repeat(10)]);
  await replaced(Buffer.alloc(30, 'd'));
  expect(await content(allocation)).toBe('d'.repeat(30));
});
