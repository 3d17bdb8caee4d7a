import { describe, expect, test } from '@jest/globals';
import { readConfig, Stop } from './config.ts';

const read = (...argv: string[]) => readConfig(argv, {});

/** Returns the text that the program stops with. */
function stopped(...argv: string[]): string {
  try {
    readConfig(argv, {});
  } catch (error) {
    if (error instanceof Stop) return error.message;
    throw error;
  }
  throw new Error('it did not stop');
}

const ZONE = ['--dns-zone', 'CDN.example.net.', '--dns-server', 'ns.example.org'];

describe('a zone', () => {
  test('is answered at the address of the edge, with safe limits', () => {
    expect(read(...ZONE, '--host', '192.0.2.1').dns).toEqual({
      zone: {
        name: ['cdn', 'example', 'net'],
        servers: [{ name: ['ns', 'example', 'org'], addresses: [] }],
        ttlS: 20,
        acme: undefined,
      },
      hosts: ['192.0.2.1'],
      port: 53,
      edges: 2,
      rate: 100,
    });
    expect(read().dns).toBeUndefined();
  });

  test('may have servers in itself, whose addresses may be told one by one', () => {
    const name = 'ns1.cdn.example.net';
    const servers = ['--dns-server', `${name}=192.0.2.53`, '--dns-server', `${name}=2001:db8::53`];
    expect(read('--dns-zone', 'cdn.example.net', ...servers).dns?.zone.servers).toEqual([
      { name: name.split('.'), addresses: ['192.0.2.53', '2001:db8::53'] },
    ]);
    expect(stopped(...ZONE, '--dns-server', name)).toMatch(/is in the zone and takes an address/);
  });

  test.each([
    ['no servers', ['--dns-zone', 'cdn.example.net'], /--dns-server is missing/],
    ['servers without a zone', ['--dns-server', 'ns.example.org'], /--dns-zone is missing/],
    ['no name', ['--dns-zone', 'a..b'], /is not a domain name/],
    ['a wrong address', [...ZONE, '--dns-server', 'ns1=300.1.1.1'], /is not an address/],
    ['answers that stay too long', [...ZONE, '--dns-ttl', '31s'], /from 1s to 30s/],
    ['answers that stay no whole second', [...ZONE, '--dns-ttl', '500ms'], /from 1s to 30s/],
    ['too many edges in an answer', [...ZONE, '--dns-edges', '9'], /at most 8/],
  ])('is refused with %s', (_, argv, message) => {
    expect(stopped(...argv)).toMatch(message);
  });
});

describe('anycast routes', () => {
  const FILE = ['--anycast-file', '/run/x'];

  test('are networks or single addresses', () => {
    const routes = ['192.0.2.1', '198.51.100.0/24', '2001:DB8::/48', '2001:db8::1'];
    const argv = routes.flatMap((route) => ['--anycast-route', route]);
    expect(read(...FILE, ...argv)).toMatchObject({
      anycast: {
        routes: ['192.0.2.1/32', '198.51.100.0/24', '2001:db8::/48', '2001:db8::1/128'],
        file: '/run/x',
        format: 'bird',
        riseMs: 10_000,
        holdMs: 30_000,
      },
      leaveTime: 2000,
    });
    expect(read()).toMatchObject({ anycast: undefined, leaveTime: 0 });
    expect(read('--leave-time', '1m').leaveTime).toBe(60_000);
  });

  test.each([
    '192.0.2.1/24',
    '192.0.2.0/33',
    '192.0.2.0/',
    '0.0.0.0/0',
    'x',
    '1.2.3.0/24/1',
    '3232235777',
  ])('that are no networks are refused: %s', (route) => {
    expect(stopped(...FILE, '--anycast-route', route)).toMatch(/is not a/);
  });

  test('take a file, and a file takes routes', () => {
    expect(stopped(...FILE)).toMatch(/go together/);
    expect(stopped('--anycast-route', '192.0.2.1')).toMatch(/go together/);
  });
});
