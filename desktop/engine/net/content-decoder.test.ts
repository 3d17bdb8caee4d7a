import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { decodingOf, transferDecodingOf } from './content-decoder.ts';

const FILE = Buffer.from('a line of the file\n'.repeat(20_000));
const PLAIN = new URL('http://example.org/file.bin');

function decoded(coding: string, body: Buffer, url = PLAIN, type = ''): Promise<Buffer> {
  const headers = { 'content-encoding': coding, 'content-type': type };
  return outcomeOf(decodingOf(headers, url)?.run, body);
}

type Run = NonNullable<ReturnType<typeof transferDecodingOf>>;

/** Decodes a body that comes in pieces, whose memory is used again after each. */
async function outcomeOf(run: Run | undefined, body: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await run?.(
    async (take) => {
      const memory = Buffer.alloc(1000);
      for (let at = 0; at < body.length; at += memory.length) {
        const piece = memory.subarray(0, body.copy(memory, 0, at, at + memory.length));
        await take(piece);
        memory.fill(0);
      }
    },
    (piece) => {
      pieces.push(Buffer.from(piece));
      return pieces.length % 3 === 0 ? new Promise(setImmediate) : undefined;
    },
  );
  return Buffer.concat(pieces);
}

describe('a body that is encoded although nobody asked for it', () => {
  test.each([
    ['gzip', gzipSync],
    ['X-Gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('%s is decoded', async (coding, encode) => {
    expect(FILE.equals(await decoded(coding, encode(FILE)))).toBe(true);
  });

  test('is not the file if it ends early or is damaged', async () => {
    const whole = gzipSync(FILE);
    const damaged = Buffer.from(whole);
    damaged[whole.length - 6] = (damaged[whole.length - 6] as number) ^ 1;
    for (const body of [whole.subarray(0, -1), damaged]) {
      await expect(decoded('gzip', body)).rejects.toMatchObject({ code: 'wrong-encoding' });
    }
  });

  test('is the file itself if that is an archive', async () => {
    const archive = gzipSync(FILE);
    const byName = await decoded('gzip', archive, new URL('http://example.org/file.tgz'));
    const byType = await decoded('gzip', archive, PLAIN, 'application/x-gzip');
    expect([byName.equals(archive), byType.equals(archive)]).toEqual([true, true]);
  });

  test('is taken as it is if it only says that it is encoded', async () => {
    expect(FILE.equals(await decoded('gzip', FILE))).toBe(true);
  });

  test('is refused if the coding is unknown', () => {
    expect(decodingOf({ 'content-encoding': 'compress' }, PLAIN)).toBeUndefined();
  });
});

describe('a body that is compressed on its way', () => {
  const over = (coding: string, body: Buffer) =>
    outcomeOf(transferDecodingOf({ 'transfer-encoding': coding }), body);

  test('is decompressed, and an archive stays an archive', async () => {
    const archive = gzipSync(FILE);
    expect(archive.equals(await over('gzip, chunked', gzipSync(archive)))).toBe(true);
    expect(FILE.equals(await over('deflate, chunked', deflateSync(FILE)))).toBe(true);
  });

  test('is not the file if it ends early', async () => {
    const cut = gzipSync(FILE).subarray(0, -1);
    await expect(over('gzip', cut)).rejects.toMatchObject({ code: 'wrong-encoding' });
  });

  test('is read as it is without a compression', () => {
    expect(transferDecodingOf({ 'transfer-encoding': 'chunked' })).toBeUndefined();
    expect(transferDecodingOf({})).toBeUndefined();
  });
});
