import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { MIB, sha256Of, WholeStage } from './testing/whole-stage.ts';

const failing = (code: string) => expect.objectContaining({ code });

const stages: WholeStage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});
async function open(count: number, cacheBytes?: number): Promise<WholeStage> {
  const stage = await WholeStage.open(count, cacheBytes);
  stages.push(stage);
  return stage;
}
/** Resolves when all chunks that nobody holds are given back. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const content = randomBytes(7 * MIB + 12_345);
const digest = sha256Of(content);

describe('a file in coded shards', () => {
  test.each([
    ['no depot', [], 0],
    ['one depot with data', [1], 2],
    ['two depots with data', [1, 2], 4],
    ['one with data and one with parity', [3, 4], 2],
    ['both with parity', [4, 5], 0],
  ] as const)('is right although its node does not answer: %s', async (_, silent, solved) => {
    const stage = await open(6);
    const file = await stage.open(await stage.document(await stage.striped(content, 4, 2)));
    for (const index of silent) stage.silent.add(index);
    expect(sha256Of(await stage.read(file))).toBe(digest);
    expect(stage.solved).toBe(solved);
    await settled();
    expect(stage.memory.lentBytes).toBe(0);
  });

  test('is lost with more shards than there is parity, and only its own bytes of them', async () => {
    const stage = await open(6);
    const exnode = await stage.striped(content, 4, 2);
    const file = await stage.open(await stage.document(exnode));
    for (const { read } of [1, 2, 3].flatMap((i) => exnode.coded?.[0]?.shards[i] ?? [])) {
      await stage.delete({ id: read.split('/')[5] as string });
    }
    await expect(stage.read(file, [1])).rejects.toEqual(failing('file-lost'));
    expect(await stage.read(file, [0, 4])).toEqual(
      Buffer.concat([content.subarray(0, MIB), content.subarray(4 * MIB, 5 * MIB)]),
    );
    await settled();
    expect(stage.memory.lentBytes).toBe(0);
  });

  test('that cannot be had now may be had later', async () => {
    const stage = await open(6);
    const file = await stage.open(await stage.document(await stage.striped(content, 4, 2)));
    for (const index of [1, 2, 3]) stage.silent.add(index);
    await expect(stage.read(file, [1])).rejects.toEqual(failing('depot-unreachable'));
    stage.silent.clear();
    expect(sha256Of(await stage.read(file))).toBe(digest);
  });

  test('is right although depots send wrong bytes, and these are named', async () => {
    const stage = await open(6);
    const exnode = await stage.striped(content, 4, 2);
    const file = await stage.open(await stage.document(exnode));
    stage.lying.add(1).add(4);
    expect(sha256Of(await stage.read(file))).toBe(digest);
    const [first, parity] = [1, 4].map(
      (i) => exnode.coded?.[0]?.shards[i]?.[0]?.read.split('/')[5],
    );
    expect(new Set(stage.wrong)).toEqual(new Set([first, parity]));
  });

  test('whose exNode has a wrong parity gives no byte that was solved from it', async () => {
    const stage = await open(6);
    const exnode = await stage.striped(content, 4, 2);
    const other = await stage.striped(randomBytes(content.length), 4, 2);
    const coded = exnode.coded?.map((extent) => ({
      ...extent,
      parityHexes: other.coded?.[0]?.parityHexes ?? [],
      shards: [...extent.shards.slice(0, 4), ...(other.coded?.[0]?.shards.slice(4) ?? [])],
    }));
    const file = await stage.open(await stage.document({ ...exnode, coded }));
    stage.silent.add(1);
    await expect(stage.read(file, [1])).rejects.toEqual(failing('depot-unreachable'));
    expect(await stage.read(file, [0])).toEqual(content.subarray(0, MIB));
  });

  test('sends each block once for several requests, and keeps what solving has read', async () => {
    const stage = await open(6, 64 * MIB);
    const file = await stage.open(await stage.document(await stage.striped(content, 4, 2)));
    stage.silent.add(1);
    const [one, two] = await Promise.all([stage.read(file), stage.read(file)]);
    expect([sha256Of(one), sha256Of(two)]).toEqual([digest, digest]);
    // Of other depots: three blocks and two of parity, of two chunks each, and the short last block.
    expect([stage.fetched, stage.solved]).toEqual([11, 2]);
  });
});

describe('a file in copies', () => {
  test('is right while one copy of each block is left', async () => {
    const stage = await open(4);
    const file = await stage.open(await stage.document(await stage.copies(content, [1, 2, 3])));
    stage.lying.add(1);
    stage.silent.add(3);
    expect(sha256Of(await stage.read(file))).toBe(digest);
    expect(new Set(stage.wrong).size).toBe(1);
  });

  test("is read from the node's own depot first", async () => {
    const stage = await open(3);
    const file = await stage.open(await stage.document(await stage.copies(content, [1, 0, 2])));
    expect(sha256Of(await stage.read(file))).toBe(digest);
    expect(stage.fetched).toBe(0);
  });

  test('comes from all depots that have it', async () => {
    const stage = await open(3);
    const asked = new Set<number>();
    stage.onAsked = async (depot) => void asked.add(depot);
    const file = await stage.open(await stage.document(await stage.copies(content, [1, 2])));
    await stage.read(file);
    expect(asked).toEqual(new Set([1, 2]));
  });

  test('of which a block is late is asked for at another depot', async () => {
    const stage = await open(3);
    const document = await stage.document(await stage.copies(content, [1, 2]));
    const file = await stage.open(document);
    await stage.read(file, [0]);
    const held: number[] = [];
    const release = Promise.withResolvers<void>();
    const both = Promise.withResolvers<void>();
    stage.onAsked = async (depot) => {
      held.push(depot);
      if (new Set(held).size === 2) both.resolve();
      // The first one hangs.
      if (depot === held[0]) await release.promise;
    };
    const read = stage.read(file, [1]);
    while (held.length === 0) await settled();
    stage.now += 60_000;
    const range = { start: MIB, end: 2 * MIB };
    const version = { ...(await versionOf(file)), url: file.url };
    stage.blocks.hedge({ version, range });
    await both.promise;
    expect(await read).toEqual(content.subarray(MIB, 2 * MIB));
    release.resolve();
  });
});

async function versionOf(file: { id: string; exnode: Exnode }) {
  const { versionOf: make } = await import('./stored-ranges.ts');
  return make(file.id, file.exnode.size);
}
