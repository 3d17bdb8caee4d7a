import { describe, expect, test } from '@jest/globals';
import {
  ChunkSpeed,
  EVIDENCE_MS,
  MAX_SLOW_PAUSE_MS,
  PeerSpeeds,
  SLOW_CHUNK_MS,
  SLOW_FACTOR,
  SLOW_PAUSE_MS,
} from './peer-speeds.ts';

const CHUNK = 512 * 1024;
/** Time that a chunk takes from a node that is slow by any measure, beside nodes of `FAST_MS`. */
const SLOW_MS = 10_000;
const FAST_MS = 40;

/** Speeds of some nodes, of which all but `slow` are fast; `send` has a node send a chunk. */
function setUp(fastMs = FAST_MS) {
  const speeds = new PeerSpeeds();
  const send = (name: string, ms: number, now: number) =>
    speeds.onBytes(name, CHUNK, ms, CHUNK, true, now);
  for (const name of ['a', 'b', 'c']) send(name, fastMs, 0);
  return { speeds, send };
}

describe('a node that sends a chunk far slower than others', () => {
  test('is passed over for a while, and then asked again', () => {
    const { speeds, send } = setUp();
    send('slow', SLOW_MS, 2000);
    expect(speeds.slow(2000)).toEqual(['slow']);
    expect(speeds.isSlow('slow', 2000 + SLOW_PAUSE_MS - 1)).toBe(true);
    expect(speeds.slow(2000 + SLOW_PAUSE_MS)).toEqual([]);
  });

  test('is passed over longer each time, up to a limit, until it has been fast', () => {
    const { speeds, send } = setUp();
    let now = 2000;
    const pauses: number[] = [];
    for (let i = 0; i < 7; i++) {
      send('slow', SLOW_MS, now);
      const before = now;
      while (speeds.isSlow('slow', now)) now += 1000;
      pauses.push(now - before);
    }
    expect(pauses.slice(0, 3)).toEqual([1, 2, 4].map((n) => n * SLOW_PAUSE_MS));
    expect(pauses.at(-1)).toBe(MAX_SLOW_PAUSE_MS);
    send('slow', FAST_MS, now);
    // The mean of what it has sent is still bad; one bad chunk shows that it is slow once more.
    send('slow', SLOW_MS, now + 1);
    expect(speeds.isSlow('slow', now + SLOW_PAUSE_MS)).toBe(true);
    expect(speeds.isSlow('slow', now + 1 + SLOW_PAUSE_MS)).toBe(false);
  });

  test('is noticed before its chunk is complete, but not at once', () => {
    const { speeds } = setUp();
    const bytes = (CHUNK * EVIDENCE_MS) / SLOW_MS;
    speeds.onBytes('slow', bytes / 2, EVIDENCE_MS - 1, CHUNK, false, 2000);
    expect(speeds.slow(2000)).toEqual([]);
    speeds.onBytes('slow', bytes, EVIDENCE_MS, CHUNK, false, 2001);
    expect(speeds.slow(2001)).toEqual(['slow']);
  });

  test('keeps its pause if another chunk, requested before, comes fast or slowly meanwhile', () => {
    const { speeds, send } = setUp();
    send('slow', SLOW_MS, 2000);
    send('slow', FAST_MS, 2001);
    send('slow', SLOW_MS, 2002);
    expect(speeds.isSlow('slow', 2000 + SLOW_PAUSE_MS - 1)).toBe(true);
    expect(speeds.isSlow('slow', 2000 + SLOW_PAUSE_MS)).toBe(false);
  });
});

test('the forecast of a node is its mean less its deviation, once it has sent a chunk', () => {
  const speeds = new PeerSpeeds();
  expect(speeds.forecast('a')).toBeUndefined();
  for (let i = 0; i < 100; i++) {
    speeds.onBytes('a', 1_000_000, 100, 1_000_000, true, i);
    speeds.onBytes('b', 1_000_000, i % 2 === 0 ? 20 : 180, 1_000_000, true, i);
  }
  // Both take 100 ms in the mean; the second one's times differ by 80 ms from that.
  expect(speeds.forecast('a')).toBeCloseTo(10_000_000, -5);
  expect(speeds.forecast('b')).toBeLessThan(7_000_000);
  expect(speeds.forecast('b')).toBeGreaterThan(4_000_000);
});

describe('a node is not slow', () => {
  test('while everything is', () => {
    const { speeds, send } = setUp(SLOW_MS);
    send('d', 2 * SLOW_MS, 2000);
    expect(speeds.slow(2000)).toEqual([]);
  });

  test('if it takes little time for a chunk, however fast the others are', () => {
    const { speeds, send } = setUp(1);
    send('d', SLOW_CHUNK_MS - 1, 2000);
    expect(speeds.slow(2000)).toEqual([]);
    send('e', SLOW_CHUNK_MS + 1, 4000);
    expect(speeds.slow(4000)).toEqual(['e']);
  });

  test('if others are not that much faster', () => {
    const { speeds, send } = setUp(1000);
    send('d', 1000 * (SLOW_FACTOR - 1), 2000);
    expect(speeds.slow(2000)).toEqual([]);
  });

  test('by one bad chunk among good ones', () => {
    const { speeds, send } = setUp();
    // The mean rises by an eighth of it, which is below the limit.
    send('a', 7 * SLOW_FACTOR * FAST_MS, 2000);
    expect(speeds.slow(2000)).toEqual([]);
  });

  test('if there is no other to compare it with', () => {
    const speeds = new PeerSpeeds();
    speeds.onBytes('only', CHUNK, SLOW_MS, CHUNK, true, 0);
    speeds.onBytes('only', CHUNK, SLOW_MS, CHUNK, true, 2000);
    expect(speeds.slow(2000)).toEqual([]);
    expect(speeds.usualMs(CHUNK, 2000)).toBeUndefined();
  });
});

test('the usual time of a chunk is a multiple of the median, and never short', () => {
  expect(setUp(100).speeds.usualMs(CHUNK, 2000)).toBeCloseTo(100 * SLOW_FACTOR, 6);
  expect(setUp(1).speeds.usualMs(CHUNK, 2000)).toBe(SLOW_CHUNK_MS);
});

test('of more nodes than fit, those met first are forgotten', () => {
  const { speeds, send } = setUp();
  send('slow', SLOW_MS, 2000);
  for (let i = 0; i < 2000; i++) send(`node-${i}`, FAST_MS, 2001);
  expect(speeds.slow(2001)).toEqual([]);
});

test('of nodes that become slow at the same moment, no more than a quarter is given up', () => {
  const speeds = new PeerSpeeds();
  const names = Array.from({ length: 12 }, (_, i) => `node-${i}`);
  for (const name of names) speeds.onBytes(name, CHUNK, FAST_MS, CHUNK, true, 0);
  for (const name of names) speeds.onBytes(name, 1000, EVIDENCE_MS, CHUNK, false, 2000);
  expect(speeds.slow(2000)).toEqual(names.slice(0, 3));
  // A pause that has ended leaves room for another node.
  const later = 2000 + SLOW_PAUSE_MS;
  for (const name of names.slice(3)) speeds.onBytes(name, 1000, EVIDENCE_MS, CHUNK, false, later);
  expect(speeds.slow(later)).toEqual(names.slice(3, 6));
});

test('the short chunk at the end of a file says nothing about speed', () => {
  const { speeds } = setUp();
  for (const name of ['a', 'b', 'c']) {
    for (let i = 0; i < 20; i++) speeds.onBytes(name, 10, 5, 10, true, 1);
  }
  expect(speeds.usualMs(CHUNK, 2000)).toBe(SLOW_CHUNK_MS);
});

describe('a chunk on its way', () => {
  test('shows that a node is slow as soon as half a second of it has come', () => {
    const { speeds } = setUp();
    const chunk = new ChunkSpeed(speeds, 'slow', CHUNK, 2000);
    for (let ms = 100; ms < EVIDENCE_MS; ms += 100) chunk.onBytes(1000, 2000 + ms);
    expect(speeds.slow(2500)).toEqual([]);
    chunk.onBytes(1000, 2000 + EVIDENCE_MS);
    expect(speeds.slow(2500)).toEqual(['slow']);
  });

  test('is not held against a node that pauses once, or that this one reads late', () => {
    const { speeds } = setUp();
    const chunk = new ChunkSpeed(speeds, 'a', CHUNK, 2000);
    chunk.onBytes(1000, 2001);
    chunk.onBytes(1000, 3500);
    expect(speeds.slow(3500)).toEqual([]);
    chunk.onBytes(CHUNK - 2000, 3501);
    expect(speeds.slow(3501)).toEqual([]);
  });

  test('shows at its end how long all of it has taken', () => {
    const { speeds } = setUp();
    const chunk = new ChunkSpeed(speeds, 'slow', CHUNK, 2000);
    chunk.onBytes(CHUNK / 2, 2000);
    chunk.onBytes(CHUNK / 2, 2000 + SLOW_MS);
    expect(speeds.slow(2000 + SLOW_MS)).toEqual(['slow']);
  });
});
