import { describe, expect, test } from '@jest/globals';
import { freeSeats, TestSource } from '../../../testing/transfer-world.ts';
import { MillraceError } from '../../base/errors.ts';
import { type HostDemand, type Seats, SourcePool } from './source-pool.ts';

const busy = new MillraceError('origin-busy');
const denied = new MillraceError('origin-denied');

function poolOf(sources: readonly TestSource[], seats: Seats = freeSeats(4)) {
  const pool = new SourcePool<TestSource>(seats, () => 1000);
  for (const source of sources) pool.add(source);
  return pool;
}

const ids = (sources: readonly TestSource[]) => sources.map(({ id }) => id);

describe('a pool of sources', () => {
  test('asks the origin only when its edges fail, or no byte comes', () => {
    const [edge, origin] = [new TestSource('edge', 'edge'), new TestSource('origin', 'origin')];
    const pool = poolOf([origin, edge]);
    expect(ids(pool.candidates(false))).toEqual(['edge']);
    expect(ids(pool.candidates(true))).toEqual(['edge', 'origin']);
    edge.health.quarantineFor(denied);
    expect(ids(pool.candidates(false))).toEqual(['origin']);
  });

  test('shares the work between origin and mirrors once all edges are quarantined', () => {
    const edge = new TestSource('edge', 'edge');
    const pool = poolOf([edge, new TestSource('origin', 'origin'), new TestSource('mirror')]);
    expect(ids(pool.candidates(false))).toEqual(['edge', 'mirror']);
    edge.health.quarantineFor(denied);
    expect(ids(pool.candidates(false))).toEqual(['origin', 'mirror']);
  });

  test('leaves out sources that have not been shown to hold the file', () => {
    const source = new TestSource('a');
    source.admitted = false;
    const pool = poolOf([source]);
    expect(pool.candidates(false)).toEqual([]);
    source.admitted = true;
    expect(ids(pool.candidates(false))).toEqual(['a']);
  });

  test('gives a source one request less than it refused, and more again once it serves', () => {
    const source = new TestSource('a');
    const pool = poolOf([source]);
    const hosts = [0, 1, 2].map(() => pool.started(source) ?? '');
    pool.onBytes(source, 1);
    source.health.onBytes();
    pool.onFailure(source, busy, true);
    for (const host of hosts) pool.ended(source, host, false);
    source.health.onBytes();
    const room = () => {
      let taken = 0;
      while (pool.candidates(true).length > 0 && taken < 9) {
        pool.started(source);
        taken++;
      }
      for (let i = 0; i < taken; i++) pool.ended(source, 'a', true);
      return taken;
    };
    const rooms = Array.from({ length: 12 }, room);
    expect(rooms[0]).toBe(2);
    expect(rooms).toContain(3);
    expect(rooms.at(-1)).toBe(4);
  });

  test('makes sources at one host share the limit of the host', () => {
    const [a, b] = [new TestSource('a', 'mirror', 'h'), new TestSource('b', 'mirror', 'h')];
    const pool = poolOf([a, b]);
    for (let i = 0; i < 3; i++) pool.started(a);
    expect(ids(pool.candidates(false))).toEqual(['b', 'a']);
    pool.started(b);
    expect(pool.candidates(false)).toEqual([]);
    pool.ended(a, 'h', true);
    expect(pool.candidates(false)).toHaveLength(2);
  });

  test('claims connections to each host, and none to a host that its source has left', () => {
    const claims: (readonly HostDemand[])[] = [];
    const seats = {
      ...freeSeats(4),
      claim: (demands: readonly HostDemand[]) => claims.push(demands),
    };
    const source = new TestSource('a', 'origin', 'old');
    const pool = poolOf([source], seats as unknown as Seats);
    pool.candidates(false);
    source.host = 'new';
    pool.candidates(false);
    expect(claims).toEqual([
      [{ host: 'old', active: 0, wanted: 4 }],
      [
        { host: 'old', active: 0, wanted: 0 },
        { host: 'new', active: 0, wanted: 4 },
      ],
    ]);
  });

  test('releases the connection at the host that the request was sent to', () => {
    const source = new TestSource('a', 'origin', 'old');
    const released: string[] = [];
    const pool = poolOf([source], { ...freeSeats(4), release: (host) => void released.push(host) });
    const host = pool.started(source);
    source.host = 'new';
    pool.ended(source, host ?? '', true);
    expect(released).toEqual(['old']);
  });

  test('reports the failure of the origin before the failures of its edges', () => {
    const [edge, origin] = [new TestSource('edge', 'edge'), new TestSource('origin', 'origin')];
    const pool = poolOf([edge, origin]);
    expect(pool.failure()).toBeUndefined();
    edge.health.quarantineFor(denied);
    expect(pool.failure()).toBe(denied);
    const changed = new MillraceError('version-changed');
    origin.health.quarantineFor(changed);
    expect(pool.failure()).toBe(changed);
  });

  test('asks the origin when other downloads have all connections to the edge', () => {
    const seats: Seats = { ...freeSeats(4), isCrowdedOut: (host) => host === 'edge' };
    const pool = poolOf([new TestSource('edge', 'edge'), new TestSource('o', 'origin')], seats);
    expect(ids(pool.candidates(false))).toEqual(['o']);
  });
});
