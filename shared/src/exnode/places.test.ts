import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ByteRange, RangeSet } from '../base/byte-range.ts';
import type { Exnode, Extent } from './exnode.ts';
import { placesOf, privateHost, unheld, wholeFiles } from './places.ts';

const exnodeOf = (size: number, extents: readonly Extent[]): Exnode => ({
  ...{ name: 'a', size, root: '', extents },
  blocks: { algorithm: 'sha256', pieceBytes: 1, hexes: [] },
});

const at = (read: string, more: object = {}) => ({ read, at: 0, ...more });

describe('places', () => {
  test('are servers, whose parts are in order and have every byte of their extents', () => {
    const one = fc.record({ start: fc.nat(50), bytes: fc.integer({ min: 1, max: 20 }) });
    const drawn = fc.array(fc.tuple(one, fc.subarray([0, 1, 2], { minLength: 1 })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(drawn, (list) => {
        const extents = list.map(([{ start, bytes }, hosts]) => ({
          ...{ start, end: start + bytes },
          replicas: hosts.map((host) => at(`http://h${host}.example/${start}`, { at: start })),
        }));
        const places = placesOf(exnodeOf(80, extents), 0);
        const asked = new Map<string, ByteRange[]>();
        for (const { origin, parts } of places) {
          for (const [i, part] of parts.entries()) {
            expect(part.url).toBe(`${origin}/${part.at}`);
            if (i > 0) expect(parts[i - 1]?.end).toBeLessThanOrEqual(part.start);
            asked.set(origin, [...(asked.get(origin) ?? []), part]);
          }
        }
        const all = extents.flatMap(({ start, end, replicas }) =>
          replicas.map(({ read }) => ({ origin: new URL(read).origin, start, end })),
        );
        expect([...asked.values()].flat().length).toBe(all.length);
        const held = new RangeSet();
        for (const extent of all) held.add(extent);
        expect(unheld(80, places)).toEqual(held.missing({ start: 0, end: 80 }));
      }),
    );
  });

  test('leave out replicas whose lease has ended, and those beyond the sixty-fourth server', () => {
    const replicas = [at('http://a.example/', { expires: 1000 }), at('http://b.example/')];
    const old = exnodeOf(9, [{ start: 0, end: 9, replicas }]);
    expect(placesOf(old, 999).map(({ origin }) => origin)).toEqual([
      ...['http://a.example', 'http://b.example'],
    ]);
    expect(placesOf(old, 1000).map(({ origin }) => origin)).toEqual(['http://b.example']);
    const many = Array.from({ length: 40 }, (_, i) => at(`http://h${i % 20}.example/${i}`));
    const three = [0, 1, 2].flatMap(() => [{ start: 0, end: 9, replicas: many }]);
    const places = placesOf(exnodeOf(9, three), 0);
    expect(places.length).toBe(64);
    expect(new Set(places.slice(0, 20).map(({ origin }) => origin)).size).toBe(20);
  });

  test('that have the whole file are told from those with a part, or with bytes elsewhere', () => {
    const first = [at('http://a.example/', { expires: 9 }), at('http://b.example/')];
    const second = [
      at('http://a.example/', { at: 4, expires: 7 }),
      // This one is right for an exNode, and wrong for programs that ask from the beginning on.
      at('http://b.example/', { at: 5 }),
      at('http://c.example/', { at: 4 }),
    ];
    const whole = [at('http://d.example/', { expires: 8 }), at('http://e.example/', { at: 1 })];
    const exnode = exnodeOf(9, [
      { start: 0, end: 4, replicas: first },
      { start: 4, end: 9, replicas: second },
      { start: 0, end: 9, replicas: whole },
    ]);
    expect(wholeFiles(exnode, 0)).toEqual([
      { url: 'http://a.example/', expires: 7 },
      { url: 'http://d.example/', expires: 8 },
    ]);
    // The lease of half of it is over.
    expect(wholeFiles(exnode, 7)).toEqual([{ url: 'http://d.example/', expires: 8 }]);
  });

  test('that nobody has are named', () => {
    const extents = [
      { start: 0, end: 10, replicas: [at('http://a.example/')] },
      { start: 20, end: 30, replicas: [at('http://b.example/', { expires: 5, manage: 'm' })] },
    ];
    const exnode = exnodeOf(40, extents);
    expect(unheld(40, placesOf(exnode, 0))).toEqual([
      { start: 10, end: 20 },
      { start: 30, end: 40 },
    ]);
    expect(unheld(40, placesOf(exnode, 5))).toEqual([{ start: 10, end: 40 }]);
  });

  test('of a copy that was given away are asked again after the ends that it names', () => {
    // The owner may have extended the leases since.
    const replicas = [
      at('http://a.example/', { expires: 5 }),
      at('http://b.example/', { expires: 6 }),
    ];
    const copy = exnodeOf(10, [{ start: 0, end: 10, replicas }]);
    const origins = (now: number) => placesOf(copy, now).map(({ origin }) => origin);
    expect(origins(5)).toEqual(['http://b.example']);
    expect(origins(6)).toEqual(['http://a.example', 'http://b.example']);
  });

  test.each(['127.0.0.1', '[::1]', '10.1.2.3', 'printer.local', 'localhost', '[fe80::1]'])(
    'at %s are found to be private',
    (host) => {
      const replicas = [at('https://a.example/'), at(`http://${host}/x`)];
      const exnode = exnodeOf(9, [{ start: 0, end: 9, replicas }]);
      expect(privateHost(exnode)).toBe(new URL(`http://${host}`).hostname);
      expect(privateHost(exnodeOf(9, []))).toBeUndefined();
      const documents = [at(`http://${host}/x`)];
      expect(privateHost({ ...exnodeOf(9, []), documents })).toBe(privateHost(exnode));
    },
  );
});
