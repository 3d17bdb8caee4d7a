import { createHash } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RangeSet } from '@millrace/shared/base/byte-range';
import { seededRandom } from '@millrace/shared/base/clock';
import type { DigestAlgorithm, PieceDigests } from '@millrace/shared/base/digest';
import * as torrents from '@millrace/shared/download/torrent/testing/torrents';
import { parseTorrent } from '@millrace/shared/download/torrent/torrent';
import { FileHasher, type HashedFile } from './file-hasher.ts';

const CONTENT = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
const hexOf = (algorithm: string, bytes = CONTENT) =>
  createHash(algorithm).update(bytes).digest('hex');

let dir = '';
const hashers: FileHasher[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
});
afterEach(async () => {
  for (const hasher of hashers.splice(0)) await hasher.close();
  await rm(dir, { recursive: true });
});

/** A file in which a test can store bytes, and remove them again. */
class Stored implements HashedFile {
  readonly dataPath = join(dir, 'data');
  readonly stored = new RangeSet();
  removals = 0;

  async store(start: number, end: number, content = CONTENT): Promise<void> {
    const file = await open(this.dataPath, start === 0 && this.stored.bytes === 0 ? 'w+' : 'r+');
    await file.write(content, start, end - start, start);
    await file.close();
    this.stored.add({ start, end });
  }

  forget(start: number, end: number): void {
    this.stored.remove({ start, end });
    this.removals++;
  }
}

async function setUp(...algorithms: DigestAlgorithm[]) {
  const file = new Stored();
  await (await open(file.dataPath, 'w')).close();
  const hasher = new FileHasher(file, algorithms);
  hashers.push(hasher);
  return { file, hasher };
}

/** Waits until `bytes` have been hashed. */
async function hashed(hasher: FileHasher, bytes: number): Promise<void> {
  while (hasher.hashedBytes < bytes) await new Promise((resolve) => setImmediate(resolve));
}

describe('FileHasher', () => {
  test('hashes while the file grows, in any order and with all algorithms', async () => {
    const { file, hasher } = await setUp('sha256', 'md5', 'sha512');
    const random = seededRandom(1);
    const cuts = Array.from({ length: 40 }, () => Math.floor(random() * CONTENT.length));
    const ends = [...cuts, CONTENT.length].sort((a, b) => a - b);
    const pieces = ends.map((end, i) => [i === 0 ? 0 : (ends[i - 1] as number), end] as const);
    pieces.sort(() => random() - 0.5);
    for (const [start, end] of pieces) {
      await file.store(start, end);
      hasher.advance();
    }
    expect(await hasher.finish(CONTENT.length)).toEqual(
      (['sha256', 'md5', 'sha512'] as const).map((algorithm) => ({
        algorithm,
        hex: hexOf(algorithm),
      })),
    );
  });

  test('begins before the file is complete', async () => {
    const { file, hasher } = await setUp('sha256');
    await file.store(0, 60_000);
    await file.store(80_000, 100_000);
    hasher.advance();
    await hashed(hasher, 60_000);
    expect(hasher.hashedBytes).toBe(60_000);
    await expect(hasher.finish(CONTENT.length)).rejects.toThrow(RangeError);
    await file.store(60_000, 80_000);
    expect((await hasher.finish(CONTENT.length))[0]?.hex).toBe(hexOf('sha256'));
  });

  test('hashes stored bytes even if no call announced them', async () => {
    const { file, hasher } = await setUp('sha1');
    await file.store(0, CONTENT.length);
    expect(await hasher.finish(CONTENT.length)).toEqual([
      { algorithm: 'sha1', hex: hexOf('sha1') },
    ]);
    expect((await hasher.finish(CONTENT.length))[0]?.hex).toBe(hexOf('sha1'));
  });

  test('hashes bytes again that were removed and stored again', async () => {
    const { file, hasher } = await setUp('sha256');
    const wrong = Buffer.from(CONTENT).fill(0, 1000, 2000);
    await file.store(0, 50_000, wrong);
    hasher.advance();
    await hashed(hasher, 50_000);
    file.forget(1000, 2000);
    await file.store(1000, 2000);
    await file.store(50_000, CONTENT.length);
    hasher.advance();
    expect((await hasher.finish(CONTENT.length))[0]?.hex).toBe(hexOf('sha256'));
  });

  test('gives an empty file a digest', async () => {
    const { hasher } = await setUp('sha256');
    expect((await hasher.finish(0))[0]?.hex).toBe(hexOf('sha256', Buffer.alloc(0)));
  });

  test('finds wrong pieces that begin inside of the file', async () => {
    const { file, hasher } = await setUp();
    const damaged = Buffer.from(CONTENT);
    // The last byte before the first piece, one in a piece, and the first one after the last piece.
    for (const at of [499, 7500, 14_500]) damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    await file.store(0, CONTENT.length, damaged);
    const hexes = [500, 7500].map((at) => hexOf('sha1', CONTENT.subarray(at, at + 7000)));
    const pieces = { algorithm: 'sha1', pieceBytes: 7000, hexes, from: 500 } as const;
    expect(await hasher.badPieces(pieces, CONTENT.length)).toEqual([{ start: 7500, end: 14_500 }]);
  });

  test.each([
    ['two blocks in a piece', 32 * 1024, torrents.SEVERAL_V2, 0],
    ['a file of less than a block', 16 * 1024, torrents.SEVERAL_V2, 1],
    ['more pieces than a power of two', 32 * 1024, torrents.SEVERAL_V2, 2],
    ['a block in a piece', 16 * 1024, torrents.SEVERAL_HYBRID, 2],
  ])('finds wrong pieces of trees: %s', async (_, pieceBytes, { document }, place) => {
    const [name, length] = torrents.FILES[place] as (typeof torrents.FILES)[number];
    const { files } = parseTorrent(document, (algorithm, bytes) =>
      createHash(algorithm).update(bytes).digest(),
    );
    const pieces = files.find((one) => one.name === `folder/${name}`)?.pieces[0];
    expect(pieces).toMatchObject({ pieceBytes, tree: true });
    const right = Buffer.from(torrents.contentOf(place, length));
    const { file, hasher } = await setUp();
    await file.store(0, length, right);
    expect(await hasher.badPieces(pieces as PieceDigests, length)).toEqual([]);
    right.writeUInt8(right.readUInt8(length - 1) ^ 1, length - 1);
    await file.store(0, length, right);
    const start = Math.floor((length - 1) / pieceBytes) * pieceBytes;
    expect(await hasher.badPieces(pieces as PieceDigests, length)).toEqual([
      { start, end: length },
    ]);
  });

  test('finds wrong pieces, the shorter last one too', async () => {
    const { file, hasher } = await setUp();
    const damaged = Buffer.from(CONTENT);
    for (const at of [0, 34_999, 99_999]) damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    await file.store(0, CONTENT.length, damaged);
    const hexes: string[] = [];
    for (let at = 0; at < CONTENT.length; at += 7000) {
      hexes.push(hexOf('sha1', CONTENT.subarray(at, at + 7000)));
    }
    const pieces = { algorithm: 'sha1', pieceBytes: 7000, hexes } as const;
    expect(await hasher.badPieces(pieces, CONTENT.length)).toEqual([
      { start: 0, end: 7000 },
      { start: 28_000, end: 35_000 },
      { start: 98_000, end: 100_000 },
    ]);
    const ended = AbortSignal.abort(new Error('enough'));
    await expect(hasher.badPieces(pieces, CONTENT.length, ended)).rejects.toThrow('enough');
  });

  test('reports a file that has become shorter, or is gone', async () => {
    const { file, hasher } = await setUp('sha256');
    file.stored.add({ start: 0, end: 10 });
    await expect(hasher.finish(10)).rejects.toMatchObject({ code: 'file-not-writable' });
    const gone = await setUp('sha256');
    await rm(gone.file.dataPath);
    gone.file.stored.add({ start: 0, end: 10 });
    await expect(gone.hasher.finish(10)).rejects.toMatchObject({ code: 'file-not-writable' });
    await (await open(gone.file.dataPath, 'w')).close();
  });

  test('ends while it is hashing when it is closed', async () => {
    const { file, hasher } = await setUp('sha256');
    await file.store(0, CONTENT.length);
    hasher.advance();
    const end = hasher.finish(CONTENT.length);
    await Promise.all([expect(end).rejects.toThrow(), hasher.close()]);
  });
});
