import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KeepingLru } from './keeping-lru.ts';

function make(maxSize: number, maxCount?: number) {
  const pinned = new Set<string>();
  const gone: string[] = [];
  const cache = new KeepingLru<number>({
    maxSize: () => maxSize,
    ...(maxCount === undefined ? {} : { maxCount }),
    sizeOf: (value) => value,
    isKept: (key) => pinned.has(key),
    dispose: (_value, key, why) => {
      if (why === 'gone') gone.push(key);
    },
  });
  return { cache, pinned, gone };
}

describe('KeepingLru', () => {
  test('evicts the least recently used entry', () => {
    const { cache, gone } = make(3);
    for (const key of ['a', 'b', 'c']) cache.set(key, 1);
    cache.get('a');
    cache.set('d', 1);
    expect(gone).toEqual(['b']);
    // Entries that are deleted or replaced are not evicted.
    cache.delete('a');
    cache.set('c', 2);
    expect(cache.evictedSize).toBe(1);
  });

  test('a flood of entries that nobody asks for evicts none that were asked for', () => {
    const { cache, gone } = make(10);
    for (const key of ['a', 'b', 'c']) cache.set(key, 1);
    cache.get('a');
    cache.get('c');
    for (let i = 0; i < 100; i++) cache.set(`flood ${i}`, 1);
    expect([cache.get('a'), cache.get('c'), cache.get('b')]).toEqual([1, 1, undefined]);
    expect(gone).not.toContain('a');
    expect(cache.size).toBe(10);
  });

  test('entries that were asked for leave room for new ones, and age as well', () => {
    const { cache, gone } = make(10);
    const keys = Array.from({ length: 10 }, (_, i) => `old ${i}`);
    for (const key of keys) cache.set(key, 1);
    for (const key of keys) cache.get(key);
    // Two of ten places are for new entries, one of which is the newest.
    for (const key of ['x', 'y']) cache.set(key, 1);
    expect(gone).toEqual(['old 0', 'old 1']);
    for (const key of ['x', 'y']) cache.get(key);
    for (const key of ['z', 'w']) cache.set(key, 1);
    expect(gone).toEqual(['old 0', 'old 1', 'old 2', 'old 3']);
  });

  test('a cache with room for few entries still lets new ones in', () => {
    const { cache } = make(2);
    for (const key of ['a', 'b']) cache.set(key, 1);
    for (const key of ['a', 'b']) cache.get(key);
    cache.set('c', 1);
    expect([cache.peek('c'), cache.count]).toEqual([1, 2]);
    cache.set('d', 2);
    expect([cache.peek('d'), cache.count]).toEqual([2, 1]);
  });

  test('an entry that is stored again stays where its uses have brought it', () => {
    const { cache } = make(10);
    cache.set('a', 1);
    cache.get('a');
    cache.set('a', 2);
    for (let i = 0; i < 100; i++) cache.set(`flood ${i}`, 1);
    expect(cache.peek('a')).toBe(2);
  });

  test('keeps pinned entries until their pins end', () => {
    const { cache, pinned, gone } = make(3);
    pinned.add('a');
    cache.set('a', 1);
    for (const key of ['b', 'c', 'd', 'e', 'f']) cache.set(key, 1);
    expect(gone).toEqual(['b', 'c', 'd']);
    expect(cache.get('a')).toBe(1);
    expect([cache.size, cache.count]).toEqual([3, 3]);
    pinned.clear();
    cache.release();
    for (const key of ['g', 'h', 'i']) cache.set(key, 1);
    expect(gone).toContain('a');
  });

  test('pinned entries can be replaced and deleted', () => {
    const { cache, pinned, gone } = make(2);
    pinned.add('a');
    for (const key of ['a', 'b', 'c']) cache.set(key, 1);
    cache.set('a', 2);
    expect([cache.get('a'), cache.size]).toEqual([2, 2]);
    cache.delete('a');
    expect([cache.get('a'), cache.size]).toEqual([undefined, 0]);
    expect(gone).toEqual(['b', 'c', 'a']);
  });

  test('evicts by number as well as by size', () => {
    const { cache, pinned, gone } = make(100, 2);
    pinned.add('a');
    for (const key of ['a', 'b', 'c', 'd']) cache.set(key, 1);
    expect(gone).toEqual(['b', 'c']);
    expect([cache.count, cache.get('a'), cache.get('d')]).toEqual([2, 1, 1]);
  });

  test('an entry larger than the cache is not stored', () => {
    const { cache, gone } = make(2);
    cache.set('a', 1);
    cache.set('b', 3);
    expect([cache.get('a'), cache.get('b'), gone]).toEqual([1, undefined, ['b']]);
  });
});

const key = fc.constantFrom(...'abcdefgh');
const step = fc.oneof(
  fc.record({ set: key, size: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ get: key }),
  fc.record({ delete: key }),
  fc.record({ pin: key }),
  fc.record({ unpin: key }),
);

test('sizes always add up, only pinned entries exceed the bound, and pinned entries stay', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const { cache, pinned, gone } = make(10);
      const held = new Map<string, number>();
      for (const s of steps) {
        if ('set' in s) {
          cache.set(s.set, s.size);
          held.set(s.set, s.size);
        } else if ('delete' in s) cache.delete(s.delete);
        else if ('get' in s) cache.get(s.get);
        else if ('pin' in s) pinned.add(s.pin);
        else {
          pinned.delete(s.unpin);
          cache.release();
        }
        for (const k of gone.splice(0)) {
          if (!('delete' in s && s.delete === k)) expect(pinned.has(k)).toBe(false);
          held.delete(k);
        }
        for (const [k, size] of held) expect(cache.peek(k)).toBe(size);
        const size = [...held.values()].reduce((sum, value) => sum + value, 0);
        expect([cache.size, cache.count]).toEqual([size, held.size]);
        const allPinned = [...held.keys()].every((k) => pinned.has(k));
        expect(size <= 10 || allPinned).toBe(true);
      }
    }),
  );
});
