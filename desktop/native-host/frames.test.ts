import { endianness } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import {
  MAX_FROM_BROWSER_BYTES,
  MAX_TO_BROWSER_BYTES,
} from '@millrace/shared/bridge/native/native-api';
import fc from 'fast-check';
import { encodeFrame, type Frame, FrameReader } from './frames.ts';

function head(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  if (endianness() === 'LE') bytes.writeUInt32LE(length);
  else bytes.writeUInt32BE(length);
  return bytes;
}

const raw = (body: Buffer) => Buffer.concat([head(body.length), body]);
const refused = { error: expect.objectContaining({ code: 'bad-option' }) };

function read(reader: FrameReader, ...pieces: Buffer[]): Frame[] {
  return pieces.flatMap((piece) => [...reader.push(piece)]);
}

describe('frames', () => {
  test('are read as they were written, however the pieces are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { maxLength: 5 }),
        fc.infiniteStream(fc.nat(9)),
        (messages, cuts) => {
          const bytes = Buffer.concat(messages.map(encodeFrame));
          const pieces: Buffer[] = [];
          for (let at = 0; at < bytes.length; ) {
            const end = at + 1 + (cuts.next().value ?? 0);
            pieces.push(bytes.subarray(at, end));
            at = end;
          }
          const expected = messages.map((message) => ({
            message: JSON.parse(JSON.stringify(message)),
          }));
          expect(read(new FrameReader(), ...pieces)).toEqual(expected);
        },
      ),
    );
  });

  test.each([
    ['empty', Buffer.alloc(0)],
    ['no JSON', Buffer.from('{"id":')],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['too long', Buffer.alloc(MAX_FROM_BROWSER_BYTES + 1, 0x20)],
  ])('that are %s are refused, and the next one is read', (_, body) => {
    expect(read(new FrameReader(), raw(body), encodeFrame({ id: 2 }))).toEqual([
      refused,
      { message: { id: 2 } },
    ]);
  });

  test('that claim a huge length take no memory', () => {
    const reader = new FrameReader();
    const before = process.memoryUsage().arrayBuffers;
    expect(read(reader, head(0xffff_ffff))).toEqual([]);
    const piece = Buffer.alloc(1024 * 1024);
    for (let i = 0; i < 64; i++) expect(read(reader, piece)).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  test('are not made longer than browsers accept', () => {
    const text = 'x'.repeat(MAX_TO_BROWSER_BYTES - 2);
    expect(encodeFrame(text)).toHaveLength(MAX_TO_BROWSER_BYTES + 4);
    expect(() => encodeFrame(`${text}x`)).toThrow(expect.objectContaining({ code: 'bad-option' }));
  });
});
