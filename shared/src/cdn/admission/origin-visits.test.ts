import { describe, expect, test } from '@jest/globals';
import { OriginVisits, type OriginVisitsOptions } from './origin-visits.ts';

const MINUTE = 60_000;

function visits(more: Partial<OriginVisitsOptions> = {}) {
  // Hosts are numbers here.
  const digest = (origin: string) => Number(/\d+/.exec(origin)?.[0]);
  const all = new OriginVisits({ perMinute: 6, burst: 10, digest, ...more });
  const visit = (client: string, i: number, now = 0) => all.visit(client, `http://${i}`, now);
  /** How many of 50 origins a client may use at once. */
  const admitted = (client: string, from: number, now = 0) =>
    Array.from({ length: 50 }, (_, i) => visit(client, from + i, now)).filter((wait) => wait === 0)
      .length;
  return { all, visit, admitted };
}

describe('OriginVisits', () => {
  test('each client has a burst of its own, then a rate per minute', () => {
    const { visit, admitted } = visits();
    expect(admitted('a', 0)).toBe(10);
    expect(admitted('b', 0)).toBe(10);
    expect(visit('a', 100)).toBe(MINUTE / 6);
    expect(visit('a', 100, MINUTE / 6 - 1)).toBe(1);
    expect(visit('a', 100, MINUTE / 6)).toBe(0);
    expect(admitted('a', 200, 2 * MINUTE)).toBe(10);
  });

  test('an origin that a client has used lately costs nothing, even without tokens', () => {
    const { visit, admitted } = visits();
    expect(admitted('a', 0)).toBe(10);
    for (let i = 0; i < 1000; i++) expect(visit('a', i % 10)).toBe(0);
    expect(visit('a', 10)).toBeGreaterThan(0);
    // Another client has its own tokens.
    expect(admitted('b', 10)).toBe(10);
  });

  test('a refused origin is not remembered as used', () => {
    const { visit, admitted } = visits();
    admitted('a', 0);
    expect(visit('a', 100)).toBeGreaterThan(0);
    expect(visit('a', 100)).toBeGreaterThan(0);
  });

  test('the origin unused for longest is forgotten first', () => {
    const { visit, admitted } = visits();
    admitted('a', 0);
    expect(visit('a', 0)).toBe(0);
    expect(visit('a', 100, MINUTE / 6)).toBe(0);
    expect(visit('a', 0, MINUTE / 6)).toBe(0);
    expect(visit('a', 1, MINUTE / 6)).toBeGreaterThan(0);
  });

  test('the client without a request for longest is forgotten first', () => {
    const { visit, admitted } = visits({ maxClients: 2 });
    expect(admitted('a', 0)).toBe(10);
    expect(visit('b', 0)).toBe(0);
    expect(visit('a', 0)).toBe(0);
    expect(visit('c', 0)).toBe(0);
    // A client that keeps asking gets no fresh burst through newcomers.
    expect(admitted('a', 100)).toBe(0);
    expect(admitted('b', 100)).toBe(10);
  });

  test('origins of all clients together are bounded, but one client alone keeps its own', () => {
    const { all, admitted } = visits({ maxOrigins: 15 });
    expect(admitted('a', 0)).toBe(10);
    const one = all.bytes;
    expect(admitted('b', 0)).toBe(10);
    expect(all.bytes).toBe(one);
    expect(admitted('a', 100)).toBe(10);
    expect(visits({ maxOrigins: 5 }).admitted('a', 0)).toBe(10);
  });

  test('its weight does not grow with the requests', () => {
    const { all } = visits({ maxClients: 20, burst: 5, perMinute: 60 });
    let most = 0;
    for (let i = 0; i < 20_000; i++) {
      all.visit(`client ${i % 50}`, `http://${i}`, i * 100);
      most = Math.max(most, all.bytes);
    }
    expect(most).toBeLessThan(20 * 1000 * 2);
  });
});
