import { describe, expect, test } from '@jest/globals';
import { Chunk } from '../files/chunk.ts';
import { ChunkMemory } from '../files/chunk-memory.ts';
import type { FileVersion } from '../files/file-version.ts';
import { MemoryCache } from './memory-cache.ts';
import { chunkBytes } from './weights.ts';

const VERSION: FileVersion = {
  url: 'https://example.com/f',
  scope: 'public',
  length: 64,
  validators: {},
  tag: 'e.a',
  fields: {},
};
const CHUNK = 4096;
/** Weight of a chunk: its data and the cost of keeping it. Keys here have one character. */
const COST = CHUNK + chunkBytes('a', VERSION);

function setUp(maxBytes: number) {
  const memory = new ChunkMemory({ slotBytes: CHUNK, keepBytes: 64 * CHUNK, poison: true });
  const cache = new MemoryCache(maxBytes);
  const make = (key: string) => new Chunk(key, memory.allocate(CHUNK), VERSION);
  /** Stores a chunk without other users. */
  const store = (key: string) => {
    const chunk = make(key);
    cache.put(chunk);
    chunk.release();
    return chunk;
  };
  const copy = (key: string) => {
    const chunk = make(key);
    cache.putCopy(chunk);
    chunk.release();
    return chunk;
  };
  const used = () => memory.figures.usedBytes / CHUNK;
  return { cache, make, store, copy, used };
}

describe('MemoryCache', () => {
  test('gives back stored chunks', () => {
    const { cache, store, used } = setUp(10 * COST);
    const chunk = store('a');
    expect(cache.get('a')).toBe(chunk);
    expect(chunk.data).toHaveLength(CHUNK);
    expect(cache.get('b')).toBeUndefined();
    expect([cache.count, cache.bytes, used()]).toEqual([1, COST, 1]);
  });

  test('holds no more than its bound, and evicts the least recently used chunk', () => {
    const { cache, store, used } = setUp(3 * COST);
    for (const key of ['a', 'b', 'c']) store(key);
    cache.get('a');
    store('d');
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ]);
    for (let i = 0; i < 100; i++) store(String.fromCharCode(0x4e + i));
    expect([cache.count, cache.bytes, used()]).toEqual([3, 3 * COST, 3]);
  });

  test('an evicted chunk lives on for its users', () => {
    const { cache, store, used } = setUp(COST);
    const chunk = store('a').retain();
    store('b');
    expect(cache.get('a')).toBeUndefined();
    expect(chunk.data).toHaveLength(CHUNK);
    expect(used()).toBe(2);
    chunk.release();
    expect(used()).toBe(1);
  });

  test('a chunk that replaces another of its name releases that one', () => {
    const { cache, store, used } = setUp(10 * COST);
    const first = store('a');
    const second = store('a');
    expect(cache.get('a')).toBe(second);
    expect(first.data).toHaveLength(0);
    expect([cache.count, used()]).toEqual([1, 1]);
  });

  test('a chunk that is stored twice is held once', () => {
    const { cache, make, used } = setUp(10 * COST);
    const chunk = make('a');
    cache.put(chunk);
    cache.put(chunk);
    chunk.release();
    expect(chunk.data).toHaveLength(CHUNK);
    cache.delete('a');
    expect(chunk.data).toHaveLength(0);
    expect([cache.count, cache.bytes, used()]).toEqual([0, 0, 0]);
  });

  test('a chunk larger than the whole cache is not kept, and evicts nothing', () => {
    const { cache, store } = setUp(COST);
    store('a');
    const memory = new ChunkMemory({ slotBytes: 1, keepBytes: 0 });
    const large = new Chunk('large', memory.allocate(CHUNK + 1), VERSION);
    cache.put(large);
    expect(cache.get('large')).toBeUndefined();
    expect(cache.get('a')).toBeDefined();
    large.release();
    expect(() => large.release()).toThrow();
  });

  test('copies take a quarter of the room at most, which chunks get back that need it', () => {
    const { cache, store, copy, used } = setUp(8 * COST);
    for (const key of 'abcdefgh') store(key);
    for (const key of 'stuv') copy(key);
    expect(cache.roomForCopies).toBe(2 * COST);
    expect([cache.count, cache.copies, cache.bytes, used()]).toEqual([6, 2, 8 * COST, 8]);
    expect(['u', 'v', 'a', 'c'].map((key) => cache.get(key) !== undefined)).toEqual([
      true,
      true,
      false,
      true,
    ]);
    cache.delete('u');
    store('w');
    expect([cache.count, cache.copies, used()]).toEqual([7, 1, 8]);
  });

  test('a copy gives way to the chunk itself, and is none beside it', () => {
    const { cache, store, copy, used } = setUp(8 * COST);
    const first = copy('a');
    const chunk = store('a');
    expect(cache.get('a')).toBe(chunk);
    expect([first.data.length, cache.count, cache.copies, used()]).toEqual([0, 1, 0, 1]);
    copy('a');
    expect(cache.get('a')).toBe(chunk);
    expect([cache.count, cache.copies, used()]).toEqual([1, 0, 1]);
  });

  test('a cache of no size keeps nothing', () => {
    const { cache, store, used } = setUp(0);
    store('a');
    expect(cache.get('a')).toBeUndefined();
    cache.delete('a');
    expect([cache.count, cache.bytes, used()]).toEqual([0, 0, 0]);
  });
});
