import type { LookupAddress, lookup } from 'node:dns';
import { describe, expect, test } from '@jest/globals';
import { OwnNetwork } from './own-network.ts';

const PUBLIC = '93.184.216.34';
const PRIVATE = ['127.0.0.1', '10.0.0.1', '192.168.0.1', '169.254.169.254', '::1', 'fd00::1'];

/** Addresses that names resolve to, which a test may change while it runs. */
const names = new Map<string, string[]>();
const resolve = ((
  name: string,
  _options: object,
  callback: (error: null, found: LookupAddress[]) => void,
) => {
  const found = names.get(name) ?? [];
  callback(
    null,
    found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
}) as typeof lookup;

function network(download: string | undefined, ...others: string[]): OwnNetwork {
  const url = download === undefined ? undefined : new URL(download);
  return new OwnNetwork({ download: url, others: others.map((one) => new URL(one)) }, resolve);
}

const looked = (own: OwnNetwork, name: string) =>
  new Promise<string[]>((done, fail) => {
    own.lookup(name, { all: true }, (error, found) => {
      if (error) fail(error);
      else done((found as LookupAddress[]).map(({ address }) => address));
    });
  });
const REFUSED = { code: 'source-refused' };

describe('beside a public download', () => {
  test.each(PRIVATE)('a mirror at %s is refused, by address and by name', async (address) => {
    const own = network('https://a.example/f.iso');
    const host = address.includes(':') ? `[${address}]` : address;
    expect(() => own.check(new URL(`http://${host}/f.iso`))).toThrow(
      expect.objectContaining(REFUSED),
    );
    names.set('mirror.example', [address]);
    own.check(new URL('http://mirror.example/'));
    await expect(looked(own, 'mirror.example')).rejects.toMatchObject(REFUSED);
    names.set('mirror.example', [address, PUBLIC]);
    expect(await looked(own, 'mirror.example')).toEqual([PUBLIC]);
  });

  test.each(['http://localhost/', 'http://nas/', 'http://printer.local/', 'http://0x7f.1/'])(
    '%s is refused before its name is looked up',
    (url) => {
      const own = network('https://a.example/f.iso');
      expect(() => own.check(new URL(url))).toThrow(expect.objectContaining(REFUSED));
    },
  );

  test('a mirror and an edge that the user named may be in the user’s own network', async () => {
    const own = network('https://a.example/f.iso', 'http://192.168.0.9/f.iso', 'http://edge.lan/');
    own.check(new URL('http://192.168.0.9/f.iso'));
    own.check(new URL('http://edge.lan/https://a.example/f.iso'));
    names.set('edge.lan', ['192.168.0.5']);
    expect(await looked(own, 'edge.lan')).toEqual(['192.168.0.5']);
    // No other host is allowed there.
    expect(() => own.check(new URL('http://192.168.0.1/'))).toThrow();
  });

  test('the host of the download cannot turn to a private address later', async () => {
    const own = network('https://a.example/f.iso');
    names.set('a.example', [PUBLIC]);
    expect(await looked(own, 'a.example')).toEqual([PUBLIC]);
    names.set('a.example', ['192.168.0.1']);
    await expect(looked(own, 'a.example')).rejects.toMatchObject(REFUSED);
  });

  test('a host with one private address among several opens the network to no other host', async () => {
    const own = network('https://a.example/f.iso');
    names.set('a.example', [PUBLIC, '192.168.0.1']);
    expect(await looked(own, 'a.example')).toHaveLength(2);
    expect(() => own.check(new URL('http://192.168.0.1/'))).toThrow();
  });
});

describe('a download in the user’s own network', () => {
  test.each(['http://127.0.0.1/f', 'http://nas/f', 'http://10.0.0.9/f'])(
    '%s may have its mirrors and redirects there',
    (url) => {
      expect(() => network(url).check(new URL('http://192.168.0.1/'))).not.toThrow();
    },
  );

  test('is recognised by the address that its name resolves to', async () => {
    const own = network('https://files.corp.example/f.iso');
    names.set('files.corp.example', ['10.1.1.1']);
    expect(await looked(own, 'files.corp.example')).toEqual(['10.1.1.1']);
    own.check(new URL('http://10.1.1.2/'));
  });
});

test('a URL that only a list has named may not lead into the user’s own network', async () => {
  const own = network(undefined);
  names.set('a.example', ['192.168.0.1']);
  await expect(looked(own, 'a.example')).rejects.toMatchObject(REFUSED);
  expect(() => own.check(new URL('http://192.168.0.1/'))).toThrow();
});

describe('whether a download is in the user’s own network', () => {
  test('shows in its name', () => {
    expect(network('http://nas.local/f.iso').isHome).toBe(true);
    expect(network('http://192.168.0.1/f.iso').isHome).toBe(true);
    expect(network('https://a.example/f.iso').isHome).toBe(false);
    expect(network(undefined).isHome).toBe(false);
  });

  test.each([
    ['a private address', ['10.0.0.1'], true],
    ['some private addresses', ['10.0.0.1', PUBLIC], true],
    ['a public address', [PUBLIC], false],
  ])('shows in %s, once it is connected to', async (_what, addresses, home) => {
    const own = network('https://home.example/f.iso');
    names.set('home.example', addresses);
    await looked(own, 'home.example');
    expect(own.isHome).toBe(home);
  });

  test('follows a stricter rule for edges: all of their addresses must be there', async () => {
    const own = network('http://nas.local/f.iso');
    names.set('edge.example', ['10.0.0.1']);
    expect(await own.leadsHome('edge.example')).toBe(true);
    names.set('edge.example', ['10.0.0.1', PUBLIC]);
    expect(await own.leadsHome('edge.example')).toBe(false);
    expect(await own.leadsHome('nowhere.example')).toBe(false);
  });

  test('does not show in the address of an edge', async () => {
    const own = network('https://a.example/f.iso', 'https://edge.example');
    names.set('edge.example', ['10.0.0.1']);
    await looked(own, 'edge.example');
    expect(own.isHome).toBe(false);
  });
});
