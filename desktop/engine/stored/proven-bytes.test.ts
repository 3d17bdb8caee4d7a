import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Exnode, ExnodeReplica } from '@millrace/shared/exnode/exnode';
import type { DownloadSource } from '../sources/download-source.ts';
import { provenBytes } from './proven-bytes.ts';

const BLOCK = 16;
const content = Buffer.from(Array.from({ length: 3 * BLOCK + 5 }, (_, i) => i));
const blocks = [0, 1, 2, 3].map((i) => content.subarray(i * BLOCK, (i + 1) * BLOCK));
const hexes = blocks.map((block) => createHash('sha256').update(block).digest('hex'));
const exnode: Exnode = {
  ...{ name: 'a', size: content.length, root: '', extents: [] },
  blocks: { algorithm: 'sha256', pieceBytes: BLOCK, hexes },
};
const { signal } = new AbortController();

type Source = Pick<DownloadSource, 'openRange'>;

/** Makes a source of bytes, which sends at most `most` of them in an answer and then breaks. */
function sourceOf(bytes: Buffer, most = Infinity): Source {
  return {
    async openRange({ start, end }) {
      const version = { length: bytes.length, validators: {} };
      const sent = bytes.subarray(start, Math.min(end, start + most));
      const read = async (sink: (at: number, piece: Uint8Array) => unknown) => {
        for (let at = 0; at < sent.length; at += 3) sink(start + at, sent.subarray(at, at + 3));
        if (start + sent.length < end) throw new MillraceError('origin-reset');
      };
      const opened = { kind: 'range', version, range: { start, end }, read, discard() {} };
      return opened as unknown as Awaited<ReturnType<Source['openRange']>>;
    },
  };
}

const failing = (code: 'origin-not-found' | 'origin-denied'): Source => ({
  openRange: () => Promise.reject(new MillraceError(code)),
});

/** Reads a range of the second extent, which begins with the second block. */
async function readFrom(sources: ReadonlyMap<ExnodeReplica, Source>, start: number) {
  const wrong = new Set<ExnodeReplica>();
  const pieces: Buffer[] = [];
  const reading = provenBytes({
    ...{ exnode, range: { start, end: content.length }, extentStart: BLOCK, signal },
    replicas: () => [...sources.keys()].filter((replica) => !wrong.has(replica)),
    source: (replica) => sources.get(replica) as Source,
    onWrong: (replica) => wrong.add(replica),
  });
  for await (const piece of reading) pieces.push(piece);
  return { bytes: Buffer.concat(pieces), wrong };
}

const [one, two, three] = [0, BLOCK, 5].map((at, i) => ({ read: `http://d${i}.example/`, at })) as [
  ExnodeReplica,
  ExnodeReplica,
  ExnodeReplica,
];

describe('bytes that are copied', () => {
  test('come right from the middle of a block on, although sources lie, break off and lack them', async () => {
    // It has its first block right.
    const lying = Buffer.from(content.subarray(BLOCK));
    lying.writeUInt8(lying.readUInt8(2 * BLOCK - 1) ^ 1, 2 * BLOCK - 1);
    const sources = new Map([
      [three, failing('origin-not-found')],
      [one, sourceOf(lying)],
      [two, sourceOf(content, 7)],
    ]);
    const { bytes, wrong } = await readFrom(sources, BLOCK + 3);
    expect(bytes).toEqual(content.subarray(BLOCK + 3));
    expect([...wrong]).toEqual([one]);
  });

  test('are missing if nobody gives a block, which is named', async () => {
    const short = sourceOf(content.subarray(BLOCK, 2 * BLOCK));
    const sources = new Map([
      [one, short],
      [two, failing('origin-denied')],
    ]);
    const failure = readFrom(new Map([[two, failing('origin-denied')]]), BLOCK);
    await expect(failure).rejects.toMatchObject({
      ...{ code: 'rest-missing', detail: expect.stringContaining('bytes 16-31') },
    });
    await expect(readFrom(sources, 2 * BLOCK)).rejects.toMatchObject({ code: 'rest-missing' });
  });
});
