import { createHash } from 'node:crypto';
import { appendFile, cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Log } from '@millrace/shared/base/log';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import { SumsWriter } from '@millrace/shared/cdn/depot/sums';
import type { Owners } from '../policy/depot-owners.ts';
import { DepotAdministration } from './administration.ts';
import type { Allocation } from './allocation.ts';
import { append } from './append.ts';
import { type Allocated, Depot } from './depot.ts';
import { readVerified } from './verified-read.ts';

const HOUR = 3_600_000;
const ALICE: Owner = {
  ...{ name: 'alice', proof: '00', bytes: 10_000_000, each: 5_000_000 },
  ...{ forMs: Infinity, count: 20, rate: Infinity },
};
const owners = { named: (name: string) => (name === 'alice' ? ALICE : undefined) } as Owners;
const silent = new Proxy({} as Log, { get: () => () => {} });
const failing = (code: string) => expect.objectContaining({ code });

let dir = '';
let now = 1_800_000_000_000;
const opened: Depot[] = [];

async function open(quotaBytes = 20_000_000): Promise<Depot> {
  const options = { dir, quotaBytes, maxLeaseMs: 24 * HOUR, owners, log: silent };
  const depot = await Depot.open({ ...options, wallClock: () => now });
  opened.push(depot);
  return depot;
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-depot-'));
});
afterEach(async () => {
  for (const depot of opened.splice(0)) await depot.close();
  await rm(dir, { recursive: true, force: true });
});

const reserve = (depot: Depot, bytes: number | undefined, forMs = HOUR) =>
  depot.allocate(ALICE, { bytes, forMs, resumable: true });

/** Appends pieces; an Error among them is how the client leaves. */
function send(depot: Depot, allocation: Allocation, pieces: readonly (Buffer | Error)[]) {
  const rest = [...pieces];
  return append(allocation, {
    async next() {
      const piece = rest.shift();
      if (piece instanceof Error) throw piece;
      return piece;
    },
    makeRoom: (end) => depot.space.makeRoom(allocation, end),
    onAcknowledged() {},
    now: () => now,
  });
}

async function contentOf({ folder, offset }: Allocation): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of readVerified(folder, { start: 0, end: offset })) parts.push(part);
  return Buffer.concat(parts);
}

const find = (depot: Depot, { allocation, secrets }: Allocated, kind: 'read' | 'write' = 'read') =>
  depot.find({ kind, id: allocation.head.id, secret: secrets[kind] });

/** Makes a depot with a file that other nodes have asked about, and notes what they are told. */
async function known() {
  const depot = await open();
  const changed: string[] = [];
  depot.onChanged = async (id) => void changed.push(id);
  const made = await reserve(depot, undefined);
  await send(depot, made.allocation, [Buffer.alloc(10)]);
  await depot.contents.complete(made.allocation, new AbortController().signal);
  const { id } = made.allocation.head;
  const proof = createHash('sha256').update(made.secrets.read).digest('hex');
  depot.findFor(id, proof);
  return { depot, made, id, proof, changed };
}

describe('Depot', () => {
  test('what came before a client left is there after a restart, and the rest completes it', async () => {
    const depot = await open();
    const made = await reserve(depot, 1_000_000);
    const content = Buffer.alloc(700_000, 'abc');
    const left = new Error('left');
    const parts = [content.subarray(0, 100_001), content.subarray(100_001, 300_000), left];
    await expect(send(depot, made.allocation, parts)).rejects.toBe(left);
    const again = await open();
    const allocation = find(again, made, 'write');
    expect(allocation.offset).toBe(300_000);
    await send(again, allocation, [content.subarray(300_000)]);
    await again.contents.complete(allocation, new AbortController().signal);
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(allocation.head.final).toMatchObject({ length: 700_000, sha256 });
    expect((await contentOf(find(await open(), made))).equals(content)).toBe(true);
    expect(again.usedBytes).toBe(700_000);
  });

  test('a depot that is closed while it reads former allocations leaves all of them to the next one', async () => {
    const first = await open();
    const files: Allocated[] = [];
    for (let i = 0; i < 5; i++) {
      const made = await reserve(first, 100);
      await send(first, made.allocation, [Buffer.alloc(100, i)]);
      // Some are complete, others go on.
      if (i < 3) await first.contents.complete(made.allocation, new AbortController().signal);
      files.push(made);
    }
    const options = { dir, quotaBytes: 1000, maxLeaseMs: HOUR, owners, log: silent };
    const begun = await Depot.begin({ ...options, wallClock: () => now });
    expect(begun.isReady).toBe(false);
    await begun.close();
    await expect(begun.ready(new AbortController().signal)).rejects.toEqual(
      failing('depot-unreachable'),
    );
    const again = await open();
    expect([again.isReady, again.count, again.usedBytes]).toEqual([true, 5, 500]);
    for (const [i, made] of files.entries()) {
      const content = await contentOf(find(again, made));
      expect(content.equals(Buffer.alloc(100, i))).toBe(true);
    }
  });

  test('records of an append that failed before it was acknowledged do not follow later ones', async () => {
    const depot = await open();
    const made = await reserve(depot, 1_000_000);
    const { allocation } = made;
    const content = Buffer.alloc(201_072, 'def');
    await send(depot, allocation, [Buffer.from(content.subarray(0, 131_072))]);
    // As after an error of the disk: data and records are written, and nobody was told of them.
    const writer = new SumsWriter(crc32, 131_072);
    const records = [8_928, 56_608, 13_392].map((bytes) => {
      writer.add(Buffer.alloc(bytes));
      return writer.cut();
    });
    await appendFile(join(allocation.folder, 'sums'), Buffer.concat(records));
    await appendFile(join(allocation.folder, 'data'), Buffer.alloc(78_928));
    const left = new Error('left');
    const parts = [Buffer.from(content.subarray(131_072)), left];
    await expect(send(depot, allocation, parts)).rejects.toBe(left);
    const again = find(await open(), made, 'write');
    expect(again.offset).toBe(201_072);
    expect((await contentOf(again)).equals(content)).toBe(true);
  });

  test('a folder that comes back from an older copy has what it had then, and uploads go on from there', async () => {
    const depot = await open();
    const old = await reserve(depot, 100_000);
    await send(depot, old.allocation, [Buffer.alloc(100_000, 'old')]);
    await depot.contents.complete(old.allocation, new AbortController().signal);
    const made = await reserve(depot, 1_000_000);
    const content = Buffer.alloc(700_000, 'ghi');
    await send(depot, made.allocation, [Buffer.from(content.subarray(0, 300_000))]);
    const copy = `${dir}-copy`;
    await cp(dir, copy, { recursive: true });
    await send(depot, made.allocation, [Buffer.from(content.subarray(300_000))]);
    await depot.contents.complete(made.allocation, new AbortController().signal);
    const later = await reserve(depot, 1000);
    await depot.release(old.allocation);
    await depot.close();
    await rm(dir, { recursive: true });
    await rename(copy, dir);
    const back = await open();
    // A file that is incomplete again is not served, and continues at its smaller offset.
    const allocation = find(back, made, 'write');
    expect(() => back.checkReadable(allocation)).toThrow(failing('upload-incomplete'));
    expect(allocation.offset).toBe(300_000);
    await send(back, allocation, [Buffer.from(content.subarray(300_000))]);
    await back.contents.complete(allocation, new AbortController().signal);
    expect(allocation.head.final?.sha256).toBe(createHash('sha256').update(content).digest('hex'));
    expect((await contentOf(find(back, made))).equals(content)).toBe(true);
    expect((await contentOf(find(back, old))).equals(Buffer.alloc(100_000, 'old'))).toBe(true);
    expect(() => find(back, later)).toThrow(failing('no-such-allocation'));
    expect(back.usedBytes).toBe(800_000);
  });

  test('bytes that come one by one are stored', async () => {
    const depot = await open();
    const { allocation } = await reserve(depot, 10_000);
    const content = Buffer.from(Array.from({ length: 10_000 }, (_, i) => (i * 7) & 255));
    await send(
      depot,
      allocation,
      [...content].map((byte) => Buffer.of(byte)),
    );
    expect((await contentOf(allocation)).equals(content)).toBe(true);
  });

  test('a lease that is changed while an upload completes takes nothing back from the disk', async () => {
    const depot = await open();
    for (let round = 0; round < 20; round++) {
      const made = await reserve(depot, 10);
      await send(depot, made.allocation, [Buffer.alloc(10)]);
      await Promise.all([
        depot.change(made.allocation, { forMs: 2 * HOUR }),
        depot.contents.complete(made.allocation, new AbortController().signal),
        depot.change(made.allocation, { forMs: 3 * HOUR }),
      ]);
      const { head } = find(await open(), made);
      expect([head.final?.length, head.expiresAt]).toEqual([10, now + 3 * HOUR]);
      await depot.release(made.allocation);
    }
  });

  test('reservations that race are charged once each, never beyond the limits', async () => {
    const depot = await open(9_000_000);
    const attempts = await Promise.allSettled(
      Array.from({ length: 40 }, () => reserve(depot, 1_000_000)),
    );
    const made = attempts.flatMap((a) => (a.status === 'fulfilled' ? [a.value] : []));
    expect([made.length, depot.usedBytes]).toEqual([9, 9_000_000]);
    await Promise.all(made.map(({ allocation }) => depot.release(allocation)));
    expect([depot.count, depot.usedBytes]).toEqual([0, 0]);
    await expect(reserve(depot, 5_000_001)).rejects.toEqual(failing('allocation-refused'));
    await expect(reserve(depot, 1, 25 * HOUR)).rejects.toEqual(failing('allocation-refused'));
  });

  test('an upload of unknown length is charged in steps, and its length in the end', async () => {
    const depot = await open();
    const made = await reserve(depot, undefined);
    expect(depot.usedBytes).toBe(0);
    await send(depot, made.allocation, [Buffer.alloc(10_000)]);
    expect(depot.usedBytes).toBe(ALICE.each);
    await depot.contents.complete(made.allocation, new AbortController().signal);
    expect(depot.usedBytes).toBe(10_000);
  });

  test('clocks that jump end leases early or late, and lose nothing else', async () => {
    const depot = await open();
    const short = await reserve(depot, 10);
    const long = await reserve(depot, 10, 10 * HOUR);
    now -= 100 * HOUR;
    depot.collect();
    expect(find(depot, short).head.id).toBe(short.allocation.head.id);
    now += 102 * HOUR;
    expect(() => find(depot, short)).toThrow(failing('allocation-expired'));
    depot.collect();
    expect(() => find(depot, short)).toThrow(failing('allocation-expired'));
    expect(find(depot, long).head.id).toBe(long.allocation.head.id);
    const wrong = { kind: 'read', id: short.allocation.head.id, secret: 'x' } as const;
    expect(() => depot.find(wrong)).toThrow(failing('no-such-allocation'));
    now -= 2 * HOUR;
  });

  test('a request that wants the turn ends the one that has it, and after the end nobody gets it', async () => {
    const depot = await open();
    const { allocation } = await reserve(depot, 10);
    const first = await allocation.takeTurn();
    const second = allocation.takeTurn();
    const third = allocation.takeTurn();
    expect(first.signal.aborted).toBe(true);
    first.end();
    await expect(second).rejects.toEqual(failing('interrupted'));
    const turn = await third;
    expect(turn.signal.aborted).toBe(false);
    const released = depot.release(allocation);
    expect(turn.signal.aborted).toBe(true);
    turn.end();
    await released;
    await expect(allocation.takeTurn()).rejects.toEqual(failing('no-such-allocation'));
  });

  test('tells other nodes of changes of files that they may know, and of no others', async () => {
    const depot = await open();
    const changed: string[] = [];
    depot.onChanged = async (id) => void changed.push(id);
    const complete = async () => {
      const made = await reserve(depot, undefined);
      await send(depot, made.allocation, [Buffer.alloc(10)]);
      await depot.contents.complete(made.allocation, new AbortController().signal);
      return made;
    };
    const [told, untold] = [await complete(), await complete()];
    const { id } = told.allocation.head;
    const proof = createHash('sha256').update(told.secrets.read).digest('hex');
    const manage = createHash('sha256').update(told.secrets.manage).digest('hex');
    expect(() => depot.findFor(id, manage)).toThrow(failing('no-such-allocation'));
    expect(depot.findFor(id, proof)).toBe(told.allocation);
    expect(id.endsWith(depot.tag)).toBe(true);
    await depot.change(told.allocation, { forMs: 2 * HOUR });
    await depot.release(untold.allocation);
    expect(changed).toEqual([]);
    await depot.change(told.allocation, { forMs: HOUR });
    expect(changed).toEqual([id]);
    // The next run does not know who was told.
    const again = await open();
    expect(again.tag).toBe(depot.tag);
    again.onChanged = depot.onChanged;
    await again.release(again.get(id) as Allocation);
    expect(changed).toEqual([id, id]);
    expect(() => again.findFor(id, proof)).toThrow(failing('no-such-allocation'));
  });

  test('tells them of a deletion even if the disk fails: they would go on serving the file', async () => {
    const { depot, made, id, proof, changed } = await known();
    await rm(made.allocation.folder, { recursive: true });
    await expect(depot.release(made.allocation)).rejects.toEqual(failing('ENOENT'));
    expect(changed).toEqual([id]);
    expect(() => depot.findFor(id, proof)).toThrow(failing('no-such-allocation'));
  });

  test('tells them of content that is blocked, and stops those who read it', async () => {
    const { depot, made, id, proof, changed } = await known();
    const { final } = made.allocation.head;
    const reader = new AbortController();
    made.allocation.addReader(reader);
    const administration = new DepotAdministration(depot, silent);
    const selection = { sha256: final?.sha256 };
    const taken = await administration.take(selection, { remove: false, block: true });
    expect(taken.digests).toEqual([final?.sha256]);
    expect(reader.signal.reason).toEqual(failing('content-blocked'));
    expect(changed).toEqual([id]);
    expect(() => depot.findFor(id, proof)).toThrow(failing('content-blocked'));
    await administration.take(selection, { remove: true, block: false });
    expect([administration.list({}).count, depot.blocked.count]).toEqual([0, 0]);
    const nothing = administration.take({}, { remove: true, block: undefined });
    await expect(nothing).rejects.toEqual(failing('bad-option'));
  });
});
