import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ConnectionPlaces } from './connection-places.ts';

const places = (max: number, share = max) => new ConnectionPlaces<string>({ max, share });

/** Opens connections `name1`, `name2`, ... of a client. */
function open(all: ConnectionPlaces<string>, client: string, count: number): string[] {
  const names = Array.from({ length: count }, (_, i) => `${client}${i + 1}`);
  for (const name of names) all.add(name, client);
  return names;
}

describe('ConnectionPlaces', () => {
  test('no connection makes room while there are free places', () => {
    const all = places(3);
    expect([all.add('a1', 'a'), all.add('a2', 'a'), all.add('a3', 'a')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect([all.size, all.clients]).toEqual([3, 1]);
  });

  test('an address that holds all places loses its longest idle one to a newcomer', () => {
    const all = places(4);
    open(all, 'a', 4);
    all.begin('a1');
    all.end('a1');
    expect(all.add('b1', 'b')).toEqual({ connection: 'a2', client: 'a', inUse: false });
    expect(all.add('b2', 'b')).toEqual({ connection: 'a3', client: 'a', inUse: false });
    expect(all.size).toBe(4);
  });

  test('the client with most makes room for its own further connections', () => {
    const all = places(4);
    open(all, 'a', 3);
    open(all, 'b', 1);
    expect(all.add('a4', 'a')).toMatchObject({ connection: 'a1' });
  });

  test('connections in use stay as long as there are idle ones', () => {
    const all = places(3);
    for (const name of open(all, 'a', 2)) all.begin(name);
    open(all, 'b', 1);
    expect(all.add('c1', 'c')).toMatchObject({ connection: 'b1' });
  });

  test('a connection with several requests is idle after the last', () => {
    const all = places(1);
    open(all, 'a', 1);
    all.begin('a1');
    all.begin('a1');
    all.end('a1');
    expect(all.add('b1', 'b')).toMatchObject({ connection: 'b1' });
    all.end('a1');
    expect(all.add('b2', 'b')).toMatchObject({ connection: 'a1', inUse: false });
  });

  test('if all are in use, a client with more than its share loses its newest', () => {
    const all = places(4, 2);
    for (const name of open(all, 'a', 3)) all.begin(name);
    for (const name of open(all, 'b', 1)) all.begin(name);
    expect(all.add('c1', 'c')).toEqual({ connection: 'a3', client: 'a', inUse: true });
    all.begin('c1');
    // Now no client has more than its share: the newcomer is turned away.
    expect(all.add('c2', 'c')).toEqual({ connection: 'c2', client: 'c', inUse: false });
    expect(all.size).toBe(4);
  });

  test('a few clients with a full share in use each do not keep all others out', () => {
    const all = places(8, 4);
    for (const client of ['a', 'b']) for (const name of open(all, client, 4)) all.begin(name);
    expect(all.add('c1', 'c')).toMatchObject({ connection: 'a4', inUse: true });
    all.begin('c1');
    expect(all.add('d1', 'd')).toMatchObject({ connection: 'b4', inUse: true });
  });

  test('a client beyond its share does not displace the idle ones of small clients', () => {
    const all = places(4, 2);
    for (const name of open(all, 'a', 3)) all.begin(name);
    open(all, 'b', 1);
    expect(all.add('a4', 'a')).toMatchObject({ connection: 'a4' });
  });

  test('trusted proxies and nodes never make room, and get places like others', () => {
    const all = places(3);
    all.add('proxy', undefined);
    all.add('node', 'n');
    all.trust('node');
    open(all, 'a', 1);
    expect(all.add('b1', 'b')).toMatchObject({ connection: 'a1' });
    expect(all.add('proxy2', undefined)).toMatchObject({ connection: 'b1' });
    // All are trusted: no connection makes room.
    expect(all.add('c1', 'c')).toMatchObject({ connection: 'c1' });
    expect(all.clients).toBe(0);
  });

  test('never holds more connections than places, and remembers no client without connections', () => {
    const step = fc.record({
      what: fc.constantFrom('add', 'begin', 'end', 'delete', 'trust'),
      client: fc.integer({ min: 0, max: 5 }),
      which: fc.nat(40),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const all = new ConnectionPlaces<number>({ max: 8, share: 2 });
        const alive = new Map<number, { client: string; requests: number; trusted: boolean }>();
        let next = 0;
        for (const { what, client, which } of steps) {
          const id = [...alive.keys()][which % Math.max(1, alive.size)];
          const connection = id === undefined ? undefined : alive.get(id);
          if (what === 'add') {
            const idle = [...alive.values()].some((c) => c.requests === 0 && !c.trusted);
            const held = [...alive.values()].filter((c) => c.client === `${client}`).length;
            const displaced = all.add(next, `${client}`);
            // Within its share, a newcomer always gets a place if there is an idle connection.
            if (idle && held < 2) expect(displaced?.connection).not.toBe(next);
            if (displaced?.connection !== next) {
              alive.set(next, { client: `${client}`, requests: 0, trusted: false });
            }
            if (displaced !== undefined) {
              expect(alive.get(displaced.connection)?.trusted ?? false).toBe(false);
              alive.delete(displaced.connection);
            }
            next++;
          } else if (id !== undefined && connection !== undefined) {
            if (what === 'begin') {
              all.begin(id);
              connection.requests++;
            } else if (what === 'end' && connection.requests > 0) {
              all.end(id);
              connection.requests--;
            } else if (what === 'trust') {
              all.trust(id);
              connection.trusted = true;
            } else if (what === 'delete') {
              all.delete(id);
              alive.delete(id);
            }
          }
          expect(all.size).toBe(alive.size);
          expect(all.size).toBeLessThanOrEqual(8);
          const clients = [...alive.values()].filter((c) => !c.trusted).map((c) => c.client);
          expect(all.clients).toBe(new Set(clients).size);
        }
      }),
      { seed: 5, numRuns: 300 },
    );
  });
});
