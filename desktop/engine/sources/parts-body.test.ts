/** Bodies in parts: every byte exactly once, whatever the order and the pieces, or an error. */

import { describe, expect, test } from '@jest/globals';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { beginParts, readParts } from './parts-body.ts';

const FILE = Buffer.from('0123456789');
const ASKED = { start: 2, end: 8 };

/** Makes a part with these bytes of the file. */
const part = (start: number, end: number, total = FILE.length) =>
  `\r\n--b\r\nContent-Range: bytes ${start}-${end - 1}/${total}\r\n\r\n${FILE.subarray(start, end)}`;
const END = '\r\n--b--\r\n';

/** Makes an answer with this body, which arrives `size` bytes at a time. */
function answer(body: string, size = 3) {
  let discarded = false;
  const stream: HttpStream = {
    status: 206,
    headers: {},
    url: new URL('http://origin.example/file'),
    requestedAt: 0,
    arrivedAt: 0,
    headMs: 0,
    async pipe(take) {
      const bytes = Buffer.from(body);
      for (let at = 0; at < bytes.length && !discarded; at += size) {
        const { promise, resolve } = Promise.withResolvers<void>();
        if (!take(bytes.subarray(at, at + size), resolve)) await promise;
      }
    },
    discard() {
      discarded = true;
    },
  };
  return stream;
}

/** Makes a sink that keeps all bytes it receives. */
function keeper() {
  const kept = Buffer.alloc(FILE.length, '.');
  const sink = (position: number, bytes: Uint8Array) => {
    kept.set(bytes, position);
    return undefined;
  };
  return { sink, text: () => kept.toString() };
}

/** Reads a body for a file of known length. @returns the bytes that the sink kept */
async function read(body: string, size?: number): Promise<string> {
  const { sink, text } = keeper();
  await readParts(answer(body, size), 'b', ASKED, FILE.length, () => sink);
  return text();
}

describe('parts of a file of known length', () => {
  test.each([1, 2, 7, 1000])(
    'are stored at their places, in any order (%i bytes at a time)',
    async (n) => {
      expect(await read(part(5, 8) + part(2, 3) + part(3, 5) + END, n)).toBe('..234567..');
    },
  );

  test.each([
    ['some are missing', part(2, 4) + END, 'wrong-length'],
    ['the end boundary is missing', part(2, 8), 'origin-reset'],
    ['a part was not asked for', part(1, 8) + END, 'wrong-range'],
    ['bytes come twice', part(2, 5) + part(4, 7) + END, 'wrong-range'],
    ['the file has another length', part(2, 8, 11) + END, 'version-changed'],
  ])('are refused if %s', async (_, body, code) => {
    await expect(read(body)).rejects.toMatchObject({ code });
  });
});

describe('parts of a file of unknown length', () => {
  test.each([1, 1000])('state the length, then wait to be read (%i bytes each)', async (size) => {
    const { sink, text } = keeper();
    const begun = await beginParts(answer(part(5, 8) + part(2, 5) + END, size), 'b', ASKED);
    expect(begun).toMatchObject({ range: ASKED, length: FILE.length });
    expect(text()).toBe('..........');
    await begun.read(sink);
    expect(text()).toBe('..234567..');
  });

  test('end with the file if the range reaches past it', async () => {
    const { sink, text } = keeper();
    const begun = await beginParts(answer(part(2, 10) + END), 'b', { start: 2, end: 100 });
    expect(begun.range).toEqual({ start: 2, end: 10 });
    await begun.read(sink);
    expect(text()).toBe('..23456789');
  });

  test('are refused if they disagree on the length', async () => {
    const begun = await beginParts(answer(part(2, 5) + part(5, 8, 11) + END), 'b', ASKED);
    await expect(begun.read(keeper().sink)).rejects.toMatchObject({ code: 'version-changed' });
  });

  test.each([
    ['there is none', END, 'malformed-response'],
    ['the body is empty', '', 'origin-reset'],
    ['the first was not asked for', part(0, 8) + END, 'wrong-range'],
  ])('are refused before any byte is read if %s', async (_, body, code) => {
    await expect(beginParts(answer(body), 'b', ASKED)).rejects.toMatchObject({ code });
  });
});
