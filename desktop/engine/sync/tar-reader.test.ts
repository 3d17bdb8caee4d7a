import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { pack } from 'tar-stream';
import { MAX_HEADER_BYTES } from '../archive/tar-entries.ts';
import { readTar } from './tar-reader.ts';

const BODY = Buffer.from('abc');
const FILE = {
  path: 'a.txt',
  size: BODY.length,
  sha256: createHash('sha256').update(BODY).digest('hex'),
  mode: '644',
  modified: 0,
};
const PIECE = 2 ** 16;

/**
 * Reads an archive of one file whose header holds a comment. @returns also how many bytes were read
 */
async function readCommented(comment: string) {
  const tar = pack();
  tar.entry({ name: FILE.path, pax: { comment } } as never, BODY);
  tar.finalize();
  const bytes = await buffer(tar as unknown as AsyncIterable<Uint8Array>);
  let asked = 0;
  const pieces = function* () {
    for (; asked < bytes.length; asked += PIECE) yield bytes.subarray(asked, asked + PIECE);
  };
  const placed: string[] = [];
  const sink = {
    open: async () => ({ write: async () => {}, close: async () => {} }),
    place: async ({ path }: { path: string }) => void placed.push(path),
  };
  const wanted = new Map([[FILE.path, FILE]]);
  const reading = readTar(Readable.from(pieces()), wanted, sink, new AbortController().signal);
  const code = await reading.then(
    () => undefined,
    (error) => error.code,
  );
  return { code, placed, asked };
}

test('a file with a long header is read', async () => {
  const { code, placed } = await readCommented('x'.repeat(MAX_HEADER_BYTES / 2));
  expect({ code, placed }).toEqual({ code: undefined, placed: [FILE.path] });
});

test('an archive whose header would fill the memory is refused before it is read', async () => {
  const { code, placed, asked } = await readCommented('x'.repeat(16 * MAX_HEADER_BYTES));
  expect({ code, placed }).toEqual({ code: 'malformed-response', placed: [] });
  expect(asked).toBeLessThan(2 * MAX_HEADER_BYTES);
});

test.each([
  ['a negative size', [0xfe, 0xff, 0xff, 0xff, 0x30, 0x30, 0x30, 0x32, 0x37, 0x33, 0x34, 0]],
  ['a size beyond all numbers', [0x80, ...Array.from({ length: 11 }, () => 0xff)]],
])('an entry with %s ends the archive at once', async (_, size) => {
  const tar = pack();
  tar.entry({ name: 'large' }, 'x');
  tar.finalize();
  const bytes = await buffer(tar as unknown as AsyncIterable<Uint8Array>);
  bytes.set(size, 124);
  bytes.fill(' ', 148, 156);
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const sink = { open: () => Promise.reject(new Error('opened')), place: async () => {} };
  const reading = readTar(Readable.from([bytes]), new Map(), sink, new AbortController().signal);
  await expect(reading).rejects.toMatchObject({ code: 'malformed-response' });
});

test('an archive is not read after an abort', async () => {
  const source = Readable.from([Buffer.alloc(1024)]);
  const sink = { open: () => Promise.reject(new Error('opened')), place: async () => {} };
  await expect(readTar(source, new Map(), sink, AbortSignal.abort())).rejects.toMatchObject({
    code: 'interrupted',
  });
  expect(source.destroyed).toBe(true);
});
