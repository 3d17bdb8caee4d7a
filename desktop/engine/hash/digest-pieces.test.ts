import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { digestPieces, pieceBytesFor } from './digest-pieces.ts';

const MiB = 1024 * 1024;
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const never = new AbortController().signal;

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-pieces-'));
  path = join(folder, 'file');
});
afterEach(() => rm(folder, { recursive: true }));

describe('the digests of a file', () => {
  test.each([
    ['larger', 3 * MiB],
    ['smaller', 300_000],
  ])('are those of the whole and of its pieces, which are %s than a read', async (_, bytes) => {
    const content = Buffer.alloc(2 * bytes + 12_345, 'pieces of a file');
    await writeFile(path, content);
    const read = await digestPieces(path, () => bytes, never);
    expect(read).toMatchObject({ size: content.length, sha256: sha256(content) });
    expect(read.hexes).toEqual(
      [0, 1, 2].map((i) => sha256(content.subarray(i * bytes, (i + 1) * bytes))),
    );
  });

  test('of an empty file have no pieces', async () => {
    await writeFile(path, '');
    const read = await digestPieces(path, () => MiB, never);
    expect(read).toMatchObject({ size: 0, sha256: sha256(Buffer.alloc(0)), hexes: [] });
  });

  test.each<[string, () => Promise<unknown> | unknown, RegExp]>([
    ['a folder', () => mkdir(path), /is not a file/],
    ['a pipe, for whose writer nobody waits', () => execFileSync('mkfifo', [path]), /not a file/],
    ['nothing', () => {}, /cannot be read/],
  ])('do not exist for %s', async (_, make, message) => {
    await make();
    const read = digestPieces(path, () => MiB, never);
    await expect(read).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringMatching(message),
    });
  });

  test('are not those of a file that changes while it is read', async () => {
    await writeFile(path, Buffer.alloc(MiB));
    const read = digestPieces(
      path,
      () => {
        execFileSync('truncate', ['-s', '100', path]);
        return MiB;
      },
      never,
    );
    await expect(read).rejects.toMatchObject({ code: 'file-has-changed' });
  });
});

test('pieces double until few enough make up a file', () => {
  expect(pieceBytesFor(0, MiB, 4)).toBe(MiB);
  expect(pieceBytesFor(4 * MiB, MiB, 4)).toBe(MiB);
  expect(pieceBytesFor(4 * MiB + 1, MiB, 4)).toBe(2 * MiB);
  expect(pieceBytesFor(100 * MiB, MiB, 4)).toBe(32 * MiB);
});
