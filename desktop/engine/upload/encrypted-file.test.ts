import { createHash } from 'node:crypto';
import {
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { openSource } from '../archive/open-source.ts';
import { BodyCipher } from '../seal/body-cipher.ts';
import { EncryptedFile } from './encrypted-file.ts';

const MIB = 1024 * 1024;
const BYTES = 9 * MIB + 777;
const signal = new AbortController().signal;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const seed = testSeed('encrypted files');
const random = seededRandom(seed);
const content = Buffer.alloc(
  BYTES,
  Buffer.from(Array.from({ length: 9973 }, () => random() * 256)),
);

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  path = join(folder, 'talk.bin');
  await writeFile(path, content);
  // A time that can be set again to the same.
  await utimes(path, 1_700_000_000, 1_700_000_000);
});
afterEach(() => rm(folder, { recursive: true }));

/** Reads ciphertext, in pieces as they come. */
async function read(file: EncryptedFile, start: number, end: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = start; at < end; ) {
    const piece = await file.read(at, Math.min(256 * 1024, end - at));
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces);
}

/** Runs with the file opened, as one process after the other would. */
async function opened<T>(use: (file: EncryptedFile) => Promise<T>): Promise<T> {
  const source = await openSource(path, signal);
  try {
    const file = await EncryptedFile.open(path, source, folder);
    return await use(file).finally(() => file.close());
  } finally {
    await source.close();
  }
}

/** Changes bytes of the file, which tells neither by its length nor by its time. */
async function changeUnnoticed(at: number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.from([(content[at] as number) ^ 1]);
  await file.write(byte, 0, 1, at);
  await file.close();
  await utimes(path, 1_700_000_000, 1_700_000_000);
}

describe('the ciphertext of a file', () => {
  test('has its length, and the digests of blocks that depots see', async () => {
    await opened(async (file) => {
      const body = await read(file, 0, BYTES);
      expect(sha256(new BodyCipher(file.bodyKey).apply(0, body))).toBe(sha256(content));
      const { bytes, sha256: digest, blocks } = await file.digests(signal);
      expect([bytes, digest, blocks.pieceBytes]).toEqual([BYTES, sha256(content), MIB]);
      const digests = Array.from({ length: 10 }, (_, i) =>
        sha256(body.subarray(i * MIB, (i + 1) * MIB)),
      );
      expect(blocks.hexes).toEqual(digests);
    });
  });

  test('has the same digests in whatever order depots read it', async () => {
    await opened(async (file) => {
      const parts = [
        [5 * MIB, BYTES],
        [0, 5 * MIB],
        [3 * MIB + 5, 8 * MIB],
      ] as const;
      const [end, begin] = await Promise.all(parts.map(([from, to]) => read(file, from, to)));
      const body = Buffer.concat([begin as Buffer, end as Buffer]);
      expect(sha256(new BodyCipher(file.bodyKey).apply(0, body))).toBe(sha256(content));
      expect((await file.digests(signal)).sha256).toBe(sha256(content));
    });
  });

  test('is not made of a file whose blocks would take too much memory', async () => {
    await truncate(path, 2 ** 40 + 1);
    await expect(opened(async () => {})).rejects.toMatchObject({
      code: 'bad-option',
      detail: expect.stringContaining('1 TiB'),
    });
  });

  test('may be that of an empty file', async () => {
    await writeFile(path, '');
    await opened(async (file) => {
      const { sha256: digest, blocks } = await file.digests(signal);
      expect([digest, blocks.hexes]).toEqual([sha256(Buffer.alloc(0)), []]);
    });
  });
});

describe('the key of a file', () => {
  const keyOf = () => opened(async ({ key }) => Buffer.from(key).toString('hex'));

  test('is random, kept for its user only, and the same until the upload is over', async () => {
    const first = await opened(async (file) => {
      await read(file, 0, 2 * MIB);
      return Buffer.from(file.key).toString('hex');
    });
    const uploads = join(folder, 'uploads');
    const [name = ''] = (await readdir(uploads)).filter((one) => one.endsWith('.key'));
    expect((await stat(join(uploads, name))).mode & 0o777).toBe(0o600);
    expect(await keyOf()).toBe(first);
    await opened((file) => file.forget());
    expect(await readdir(uploads)).not.toContain(name);
    expect(await keyOf()).not.toBe(first);
  });

  test('is another one once the file has another length or time', async () => {
    const first = await keyOf();
    await utimes(path, 1_700_000_000, 1_700_000_001);
    const second = await keyOf();
    await writeFile(path, content.subarray(1));
    const third = await keyOf();
    expect(new Set([first, second, third]).size).toBe(3);
  });

  test('is never used for two versions of a block, though length and time are the same', async () => {
    const first = await opened(async (file) => {
      await read(file, 0, MIB);
      return { key: file.key, body: await read(file, 0, 4 * MIB) };
    });
    await changeUnnoticed(Math.floor(random() * 4 * MIB));
    // Another process takes up the upload: not one byte that was read before is given away again.
    await opened(async (file) => {
      expect(file.key).toEqual(first.key);
      await expect(read(file, 0, 4 * MIB)).rejects.toMatchObject({ code: 'file-has-changed' });
    });
    await opened(async (file) => {
      expect(file.key).not.toEqual(first.key);
      expect(await read(file, 0, 4 * MIB)).not.toEqual(first.body);
    });
  });

  test('is never used for two versions of a block that two depots get', async () => {
    await opened(async (file) => {
      const body = await read(file, 0, BYTES);
      await changeUnnoticed(Math.floor(random() * MIB));
      await expect(read(file, 0, MIB)).rejects.toMatchObject({ code: 'file-has-changed' });
      // Blocks that did not change are still read as they were encrypted first.
      expect(await read(file, 8 * MIB, BYTES)).toEqual(body.subarray(8 * MIB));
    });
  });

  test('covers blocks that were never read, in the version that comes first', async () => {
    const { key } = await opened(async (file) => {
      await read(file, 0, MIB);
      return file;
    });
    await changeUnnoticed(9 * MIB);
    await opened(async (file) => {
      expect(file.key).toEqual(key);
      const body = await read(file, 0, BYTES);
      const digest = sha256(await readFile(path));
      expect(sha256(new BodyCipher(file.bodyKey).apply(0, body))).toBe(digest);
      expect((await file.digests(signal)).sha256).toBe(digest);
    });
  });

  test('is used by one process at a time', async () => {
    await opened(async () => {
      await expect(opened(async () => {})).rejects.toMatchObject({
        code: 'upload-running',
      });
    });
  });

  test('is given up if its record is damaged', async () => {
    const first = await keyOf();
    const uploads = join(folder, 'uploads');
    const [name = ''] = (await readdir(uploads)).filter((one) => one.endsWith('.key'));
    const record = await readFile(join(uploads, name));
    await writeFile(join(uploads, name), record.subarray(0, 1000));
    expect(await keyOf()).not.toBe(first);
  });
});
