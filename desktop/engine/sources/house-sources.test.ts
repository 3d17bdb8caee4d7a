import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { RangeSet } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Note } from '@millrace/shared/base/notes';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { HouseEdge, IdentifiedEdge } from '@millrace/shared/house/house-list';
import type { House } from '../edges/house-edges.ts';
import type { Connections } from './connections.ts';
import type { DownloadSource } from './download-source.ts';
import { HousePart, takeHouse } from './house-sources.ts';
import type { First } from './opening.ts';

const EDGE = { url: 'http://10.0.0.7:3125', address: '10.0.0.7', name: 'attic', rttMs: 1 };
const WRONG = new MillraceError('checksum-mismatch');

function sourceOf(kind: string, ...ranges: ByteRange[]): DownloadSource {
  const health = new SourceHealth(Math.random);
  return { kind, health, given: new RangeSet(ranges) } as unknown as DownloadSource;
}

let notes: Note[];
let forgotten: ByteRange[];
beforeEach(() => {
  notes = [];
  forgotten = [];
});

describe('the part of edges of the house', () => {
  const origin = sourceOf('origin', { start: 0, end: 10 });
  let edge: DownloadSource;
  const partOf = (isRead: boolean, ...sources: DownloadSource[]) =>
    new HousePart({
      sources: { sources },
      forget: async (range) => void forgotten.push(range),
      isRead,
      onNote: (note) => notes.push(note),
    });
  beforeEach(() => {
    edge = sourceOf('house', { start: 10, end: 20 }, { start: 30, end: 40 });
  });

  test('is forgotten when the file is wrong, and that of others is not', async () => {
    const part = partOf(false, origin, edge);
    expect(await part.onWrong(WRONG)).toBe(true);
    expect(forgotten).toEqual([
      { start: 10, end: 20 },
      { start: 30, end: 40 },
    ]);
    expect(edge.health.quarantine).toBe(WRONG);
    expect(origin.health.quarantine).toBeUndefined();
    expect(notes).toMatchObject([{ note: 'house-was-wrong' }]);
    // The next wrong file is not theirs.
    expect(part.brought).toBe(false);
    expect(await part.onWrong(WRONG)).toBe(false);
  });

  test('is forgotten when somebody begins to read the file, and no edge joins then', async () => {
    const part = partOf(false, origin, edge);
    expect(part.admits(edge)).toBe(true);
    await part.onRead();
    expect(forgotten).toHaveLength(2);
    const late = sourceOf('house');
    expect([part.admits(late), part.admits(origin)]).toEqual([false, true]);
    expect(late.health.quarantine?.code).toBe('source-refused');
    expect(notes).toEqual([]);
  });

  test('is none in a file that is read from the beginning', () => {
    expect(partOf(true).admits(edge)).toBe(false);
  });
});

describe('edges of the house', () => {
  let closed: AbortController;
  let ended: AbortController;
  let wrong: HouseEdge[];
  let taken: DownloadSource[];
  let listeners: Set<(edge: IdentifiedEdge) => void>;

  /** Takes the edges. @param digestKnown whether a digest is known once all statements are read */
  async function take(there: IdentifiedEdge[], digestKnown = true): Promise<void> {
    let isKnown = false;
    const house: House = {
      edges: there,
      onFound: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      onWrong: (edge) => wrong.push(edge),
      closed: closed.signal,
    };
    const connections = {
      get digestKnown() {
        return isKnown;
      },
      whyNotHouse: async () => undefined,
      house: () => sourceOf('house'),
    } as unknown as Connections;
    await takeHouse({
      ...{ house, connections, random: Math.random, signal: ended.signal },
      first: { source: { url: 'http://a.example/' }, opened: { headers: {} } } as unknown as First,
      statements: async () => {
        isKnown = digestKnown;
      },
      onSource: (source) => taken.push(source),
      onNote: (note) => notes.push(note),
    });
  }
  const edges = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ ...EDGE, url: `http://10.0.0.7:${i + 1}` }));

  beforeEach(() => {
    [closed, ended] = [new AbortController(), new AbortController()];
    [wrong, taken] = [[], []];
    listeners = new Set();
  });

  test('that are there and that come are taken, each once, at most eight', async () => {
    await take([EDGE]);
    for (const edge of [EDGE, ...edges(20)]) for (const tell of listeners) tell(edge);
    expect(taken).toHaveLength(8);
    ended.abort();
    expect(listeners.size).toBe(0);
  });

  test('are not taken without a digest, which a note says', async () => {
    await take([EDGE], false);
    expect(taken).toEqual([]);
    expect(notes).toMatchObject([{ note: 'house-not-asked' }]);
  });

  test('are excluded when the user switches them off', async () => {
    await take([EDGE]);
    closed.abort();
    expect(taken[0]?.health.quarantine?.code).toBe('source-refused');
  });

  test('that brought wrong bytes are reported at the end, and others are not', async () => {
    await take(edges(2));
    taken[1]?.health.quarantineFor(WRONG);
    ended.abort();
    expect(wrong).toMatchObject([{ url: 'http://10.0.0.7:2' }]);
  });
});
