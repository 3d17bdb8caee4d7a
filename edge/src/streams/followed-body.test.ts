/** Followed bodies: bytes in order from pieces of any size, and memory that is given back. */

import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import fc from 'fast-check';
import type { StreamPiece } from '../peers/stream-pieces.ts';
import { FollowedBody } from './followed-body.ts';

const CHUNK = 16;

/** A node that has a file, and pieces of it whose sizes are drawn. */
class Node {
  lent = 0;
  readonly #file: Buffer;
  readonly #sizes: readonly number[];
  readonly #breaksAt: number;
  #asked = 0;

  constructor(file: Buffer, sizes: readonly number[], breaksAt = Number.POSITIVE_INFINITY) {
    this.#file = file;
    this.#sizes = sizes;
    this.#breaksAt = breaksAt;
  }

  readonly fetch = async ({ start, end }: { start: number; end: number }): Promise<StreamPiece> => {
    const size = this.#sizes[this.#asked++ % this.#sizes.length] ?? 1;
    await new Promise((resolve) => setImmediate(resolve));
    if (start >= this.#breaksAt) throw new PeerFailure('other', new MillraceError('origin-reset'));
    const data = Buffer.from(this.#file.subarray(start, Math.min(end, start + size)));
    this.lent++;
    const release = () => {
      this.lent--;
      data.fill(0xdb);
    };
    const isEnd = start + data.length >= this.#file.length;
    return { buffer: { data, release }, length: isEnd ? this.#file.length : undefined };
  };
}

/** Lets every answer that is on its way come. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('a followed body', () => {
  test('has all bytes in order, whatever comes at a time, and gives all memory back', async () => {
    const cases = [fc.uint8Array({ maxLength: 200 }), fc.array(fc.integer({ min: 1, max: CHUNK }))];
    await fc.assert(
      fc.asyncProperty(
        ...(cases as [fc.Arbitrary<Uint8Array>, fc.Arbitrary<number[]>]),
        async (file, sizes) => {
          const node = new Node(Buffer.from(file), sizes.length === 0 ? [CHUNK] : sizes);
          const got: Buffer[] = [];
          const body = new FollowedBody({
            from: 0,
            sources: ['other'],
            chunkBytes: CHUNK,
            fetch: node.fetch,
          });
          await body.pipe((piece, resume) => {
            got.push(Buffer.from(piece));
            setImmediate(resume);
            return got.length % 2 === 0;
          });
          expect(Buffer.concat(got).equals(file)).toBe(true);
          await settled();
          expect(node.lent).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('that breaks off never ends cleanly, and says that another node may go on', async () => {
    const node = new Node(Buffer.alloc(100, 1), [CHUNK], 48);
    const body = new FollowedBody({
      from: 0,
      sources: ['other'],
      chunkBytes: CHUNK,
      fetch: node.fetch,
    });
    let bytes = 0;
    const take = (piece: Buffer) => {
      bytes += piece.length;
      return true;
    };
    await expect(body.pipe(take)).rejects.toMatchObject({ code: 'origin-reset' });
    expect([bytes, body.isLost]).toEqual([48, true]);
    await settled();
    expect(node.lent).toBe(0);
  });

  test('that is discarded while pieces are on their way gives their memory back', async () => {
    const node = new Node(Buffer.alloc(200, 1), [CHUNK]);
    const body = new FollowedBody({
      from: 0,
      sources: ['other'],
      chunkBytes: CHUNK,
      fetch: node.fetch,
    });
    let pieces = 0;
    const done = body.pipe(() => {
      if (++pieces === 3) body.discard();
      return true;
    });
    await expect(done).rejects.toMatchObject({ code: 'interrupted' });
    await settled();
    expect([pieces, node.lent]).toEqual([3, 0]);
  });
});
