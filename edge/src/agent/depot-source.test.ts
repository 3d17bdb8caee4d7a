import { renameSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { depotFileUrl } from '@millrace/shared/cdn/depot/depot-file';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { Allocation } from '../depot/allocation.ts';
import { append } from '../depot/append.ts';
import { Depot } from '../depot/depot.ts';
import { ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest, ChunkSource } from '../files/chunk-request.ts';
import type { Owners } from '../policy/depot-owners.ts';
import { DepotSource } from './depot-source.ts';

const BYTES = 1000;
const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: Infinity, each: Infinity },
  ...{ forMs: Infinity, count: Infinity, rate: Infinity },
};
const owners = { named: () => ALICE } as unknown as Owners;
const { signal } = new AbortController();
const failing = (code: string) => expect.objectContaining({ code });

let dir = '';
let depot: Depot;
let allocation: Allocation;
/** Requests that read the allocation. */
let readers = 0;

beforeEach(async () => {
  readers = 0;
  dir = await mkdtemp(join(tmpdir(), 'millrace-source-'));
  const options = { dir, quotaBytes: 10_000, maxLeaseMs: 10_000, owners, log: silentLog };
  depot = await Depot.open({ ...options, wallClock: () => 0 });
  const wanted = { bytes: BYTES, forMs: 10_000, resumable: true };
  ({ allocation } = await depot.allocate(ALICE, wanted));
  const pieces = [Buffer.alloc(BYTES, 'x')];
  const next = async () => pieces.pop();
  await append(allocation, { next, makeRoom() {}, onAcknowledged() {}, now: () => 0 });
  await depot.contents.complete(allocation, signal);
  const addReader = allocation.addReader.bind(allocation);
  allocation.addReader = (reader) => {
    const remove = addReader(reader);
    readers++;
    return () => {
      readers--;
      remove();
    };
  };
});
afterEach(async () => {
  await depot.close();
  await rm(dir, { recursive: true });
});

/** Asks for all bytes of the allocation. @param onSent called before they are read */
function fetchAll(mayLend = true, onSent = () => {}) {
  const memory = new ChunkMemory({ slotBytes: 64, keepBytes: 64, mayLend: () => mayLend });
  const origin = {} as ChunkSource;
  const source = new DepotSource({ origin, depot, peers: undefined, memory, now: () => 0 });
  const url = depotFileUrl(allocation.head.id);
  const request: ChunkRequest = {
    version: { url, scope: 'public', length: BYTES, validators: {}, tag: 'e.a', fields: {} },
    range: { start: 0, end: BYTES },
  };
  return source.fetch(request, 0, signal, { onSent, onBytes() {} });
}

describe("DepotSource, for chunks of this node's own depot", () => {
  test('reads them, and is no reader any more', async () => {
    const { data } = await fetchAll();
    expect([data.toString(), readers]).toEqual(['x'.repeat(BYTES), 0]);
  });

  test('is no reader of a file for which there is no memory', async () => {
    await expect(fetchAll(false)).rejects.toEqual(failing('out-of-memory'));
    expect(readers).toBe(0);
  });

  test('a file that is deleted before it is opened is one that does not exist, no fault of the disk', async () => {
    // As the deletion will do in a moment.
    const chunk = fetchAll(true, () => renameSync(allocation.folder, join(dir, 'trash', 'gone')));
    const released = depot.release(allocation).catch(() => {});
    await expect(chunk).rejects.toEqual(failing('no-such-allocation'));
    expect(readers).toBe(0);
    await released;
  });
});
