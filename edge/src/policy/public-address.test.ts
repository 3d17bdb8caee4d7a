import type { LookupAddress, lookup } from 'node:dns';
import { describe, expect, test } from '@jest/globals';
import { checkLiteral, ipLiteral, isPublicAddress, publicLookup } from './public-address.ts';

const refused = expect.objectContaining({ code: 'private-address' });

/** A resolver that answers with these addresses. */
function resolving(...addresses: string[]) {
  const asked: object[] = [];
  const resolve = (_host: string, options: object, callback: (...args: unknown[]) => void) => {
    asked.push(options);
    const found = addresses.map(
      (address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
    );
    callback(null, found);
  };
  return { asked, lookup: publicLookup(resolve as unknown as typeof lookup) };
}

/** What a socket's lookup yields. */
function resolved(look: ReturnType<typeof publicLookup>, options = {}): Promise<unknown[]> {
  return new Promise((resolve) => {
    look('host.example', options, (...result: unknown[]) => resolve(result));
  });
}

describe('public addresses', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.255.255',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
  ])('%s is one', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ['this host', '0.0.0.0'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.255'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.0.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['link-local', '169.254.0.1'],
    ['metadata', '169.254.169.254'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['benchmarking', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fd00::1'],
    ['metadata', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['discard', '100::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped private', '::ffff:10.0.0.1'],
    ['mapped metadata', '::ffff:a9fe:a9fe'],
    ['translated loopback', '::ffff:0:127.0.0.1'],
    ['6to4 of loopback', '2002:7f00:1::'],
    ['6to4 of a private address', '2002:a00:1::1'],
    ['NAT64 of loopback', '64:ff9b::127.0.0.1'],
    ['NAT64 of a private address', '64:ff9b::10.0.0.1'],
    ['local NAT64', '64:ff9b:1::10.0.0.1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['no address', 'example.com'],
    ['nothing', ''],
  ])('%s (%s) is none', (_, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http://%31%32%37.0.0.1/',
    'http://１２７.０.０.１/',
    'http://0/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0xa9fea9fe/',
    'http://2852039166/',
    'http://10.1/',
    'http://192.168.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::FFFF:169.254.169.254]/',
    'http://[2002:7f00:1::]/',
    'http://[64:ff9b::169.254.169.254]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ])('%s is refused before anything is looked up', (url) => {
    expect(() => checkLiteral(new URL(url))).toThrow(refused);
  });

  test.each([
    'http://8.8.8.8/',
    'http://[2606:4700::1111]/',
    'http://example.com/',
    'http://localhost/',
  ])('%s is left to the lookup or public', (url) => {
    expect(() => checkLiteral(new URL(url))).not.toThrow();
  });

  test('a literal is told from a name', () => {
    expect(ipLiteral('[::1]')).toBe('::1');
    expect(ipLiteral('10.0.0.1')).toBe('10.0.0.1');
    expect(ipLiteral('example.com')).toBeUndefined();
    expect(ipLiteral('10.example.com')).toBeUndefined();
  });

  test('of the addresses of a name only the public ones are connected to', async () => {
    const { lookup: look, asked } = resolving('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1111');
    expect(await resolved(look, { all: true })).toEqual([
      null,
      [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
    ]);
    expect(await resolved(look, { family: 4 })).toEqual([null, '8.8.8.8', 4]);
    expect(asked).toEqual([{ all: true }, { family: 4, all: true }]);
  });

  test.each([
    ['private addresses only', ['127.0.0.1', '169.254.169.254', 'fd00::1']],
    ['no address', []],
  ])('a name with %s is not connected to', async (_, addresses) => {
    for (const options of [{}, { all: true }]) {
      const [error] = await resolved(resolving(...addresses).lookup, options);
      expect(error).toEqual(refused);
    }
  });

  test('a name that cannot be resolved fails as it does elsewhere', async () => {
    const failure = new Error('ENOTFOUND');
    const resolve = (_host: string, _options: object, callback: (error: Error) => void) =>
      callback(failure);
    const look = publicLookup(resolve as unknown as typeof lookup);
    expect((await resolved(look))[0]).toBe(failure);
  });
});
