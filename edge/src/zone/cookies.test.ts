import { describe, expect, test } from '@jest/globals';
import { DnsCookies } from './cookies.ts';

const SECRET = Buffer.from('the secret of a network');
const CLIENT = Buffer.from('8 bytes!');
const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

/** The cookie as a resolver sends it back. */
function returned(value: Uint8Array) {
  return { client: value.subarray(0, 8), server: value.subarray(8) };
}

describe('cookies', () => {
  const cookies = new DnsCookies(SECRET);
  const cookie = returned(cookies.make(CLIENT, '192.0.2.1', NOW));

  test('prove the address that they were made for, for an hour', () => {
    expect(cookie.server).toHaveLength(16);
    expect(cookies.proves(cookie, '192.0.2.1', NOW)).toBe(true);
    expect(cookies.proves(cookie, '192.0.2.1', NOW + HOUR_MS)).toBe(true);
    expect(cookies.proves(cookie, '192.0.2.1', NOW + HOUR_MS + 1000)).toBe(false);
    expect(cookies.proves(cookie, '192.0.2.1', NOW - 301_000)).toBe(false);
  });

  test('prove nothing for another address, client or time', () => {
    expect(cookies.proves(cookie, '192.0.2.2', NOW)).toBe(false);
    const other = { ...cookie, client: Buffer.from('8 others') };
    expect(cookies.proves(other, '192.0.2.1', NOW)).toBe(false);
    const later = Buffer.from(cookie.server);
    later.writeUInt8((later[3] ?? 0) ^ 1, 3);
    expect(cookies.proves({ client: CLIENT, server: later }, '192.0.2.1', NOW)).toBe(false);
  });

  test('without a part of the server, or with one of another length, prove nothing', () => {
    expect(cookies.proves(undefined, '192.0.2.1', NOW)).toBe(false);
    expect(cookies.proves({ client: CLIENT, server: undefined }, '192.0.2.1', NOW)).toBe(false);
    const short = { client: CLIENT, server: cookie.server.subarray(0, 8) };
    expect(cookies.proves(short, '192.0.2.1', NOW)).toBe(false);
  });

  test('of a node count at all nodes with its secret, and at no other', () => {
    expect(new DnsCookies(SECRET).proves(cookie, '192.0.2.1', NOW)).toBe(true);
    expect(new DnsCookies(undefined).proves(cookie, '192.0.2.1', NOW)).toBe(false);
  });
});
