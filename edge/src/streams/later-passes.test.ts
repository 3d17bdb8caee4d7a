/** Later passes: clients pay for the bytes that a second answer of an origin brings for them. */

import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { StreamDigests } from '@millrace/shared/cdn/chunks/stream-plan';
import { streamTag } from '@millrace/shared/cdn/chunks/version-tag';
import { ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import { LaterPasses } from './later-passes.ts';
import type { StreamBody } from './stream-types.ts';

const CHUNK = 64 * 1024;
const CONTENT = Buffer.alloc(8 * CHUNK, 'later passes');
const OBSERVER = { onSent() {}, onBytes() {} };
const chunkAt = (index: number) => CONTENT.subarray(index * CHUNK, (index + 1) * CHUNK);

/** A body that brings a chunk whenever the stream takes more. */
function body(): StreamBody {
  return {
    async pipe(write) {
      for (let index = 0; index < 8; index++) {
        await new Promise<void>((resume) => {
          if (write(chunkAt(index), resume)) resume();
        });
      }
    },
    discard() {},
  };
}

test('a client pays once for the bytes before those that it asks for', async () => {
  const digests = new StreamDigests();
  for (let index = 0; index < 8; index++) {
    digests.accept(index, createHash('sha256').update(chunkAt(index)).digest());
  }
  const skipped: [string, number][] = [];
  const passes = new LaterPasses({
    memory: new ChunkMemory({ slotBytes: CHUNK, keepBytes: 8 * CHUNK }),
    chunkBytes: CHUNK,
    aheadBytes: 0,
    maxBytes: 16 * CHUNK,
    keep() {},
    generation: () => 1,
    again: async () => body(),
    onOriginBytes() {},
    onEnd() {},
    onSkipped: (client, bytes) => skipped.push([client, bytes]),
  });
  const read = async (index: number, client: string) => {
    const version: ChunkRequest['version'] = {
      ...{ url: 'http://origin.example/f', scope: 'public', length: CONTENT.length },
      ...{ validators: {}, tag: streamTag('0'.repeat(32)), fields: {} },
    };
    const range = { start: index * CHUNK, end: (index + 1) * CHUNK };
    const request = { version, range, client };
    const { signal } = new AbortController();
    const chunk = await passes.fetch(request, digests.text ?? '', signal, OBSERVER);
    expect(chunk.data.equals(chunkAt(index))).toBe(true);
    chunk.release();
  };
  await read(3, 'a');
  // The next chunk follows in the same pass: nothing comes that nobody has asked for.
  await read(4, 'b');
  await read(7, 'b');
  expect(skipped).toEqual([
    ['a', 3 * CHUNK],
    ['b', 2 * CHUNK],
  ]);
});
