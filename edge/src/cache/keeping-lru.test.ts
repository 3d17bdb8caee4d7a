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
