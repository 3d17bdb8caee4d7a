import { describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import fc from 'fast-check';
import { nodeUrl, parseSeed, resolveSeeds } from './seeds.ts';

describe('parseSeed', () => {
  test.each([
    ['10.0.0.1', 'http', '10.0.0.1', 3125],
    ['10.0.0.1:8080', 'http', '10.0.0.1', 8080],
    ['10.0.0.1:3125', 'http', '10.0.0.1', 3125],
    [' 10.0.0.1:80 ', 'http', '10.0.0.1', 80],
    ['edges', 'http', 'edges', 3125],
    ['Edges.Example:4000', 'http', 'edges.example', 4000],
    ['edges:80', 'http', 'edges', 80],
    ['edges:080', 'http', 'edges', 80],
    ['edges:80/', 'http', 'edges', 80],
    ['edges:443', 'http', 'edges', 443],
    ['edges/', 'http', 'edges', 3125],
    ['http://edges', 'http', 'edges', 3125],
    ['http://edges/', 'http', 'edges', 3125],
    ['http://edges:80', 'http', 'edges', 80],
    ['HTTP://edges:80/', 'http', 'edges', 80],
    ['http://edges:443', 'http', 'edges', 443],
    ['https://edges', 'https', 'edges', 443],
    ['https://edges:443', 'https', 'edges', 443],
    ['https://edges:80', 'https', 'edges', 80],
    ['https://edges:3125', 'https', 'edges', 3125],
    ['[::1]', 'http', '::1', 3125],
    ['[::80]', 'http', '::80', 3125],
    ['[::1]:80', 'http', '::1', 80],
    ['[2001:DB8:0::1]:8080', 'http', '2001:db8::1', 8080],
    ['https://[::1]', 'https', '::1', 443],
    ['bücher.example', 'http', 'xn--bcher-kva.example', 3125],
  ])('%j is %s, %s, %d', (text, scheme, host, port) => {
    expect(parseSeed(text)).toEqual({ scheme, host, port });
  });

  test.each([
    '',
    ' ',
    ':3125',
    'http://',
    'edges:port',
    'edges:0',
    'edges:65536',
    'edges:-1',
    'edges/path',
    'edges?query',
    'edges:80?',
    'edges#part',
    'edges:80#',
    'user@edges',
    'user:secret@edges',
    'http://:secret@edges',
    'ftp://edges',
    'ws://edges:80',
    'file:///edges',
    '::1',
    '[::1',
    '[zz::]',
    '256.256.256.256',
    'ed ges',
    'a<b',
  ])('%j is refused by name', (text) => {
    expect(() => parseSeed(text)).toThrow(
      expect.objectContaining({
        code: 'bad-option',
        detail: expect.stringContaining(`"${text}"`),
      }),
    );
  });

  test('reads the URL of a node as that node', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    const port = fc.oneof(fc.constantFrom(80, 443, 3125), fc.integer({ min: 1, max: 65535 }));
    fc.assert(
      fc.property(address, port, fc.constantFrom('http', 'https'), (host, at, scheme) => {
        const url = nodeUrl(host, at, scheme);
        const seed = parseSeed(url);
        expect(nodeUrl(seed.host, seed.port, seed.scheme)).toBe(url);
        expect(seed).toMatchObject({ scheme, port: at });
      }),
    );
  });

  test('any text is an edge or refused as an option', () => {
    const alike = fc.stringMatching(/^(https?:\/\/)?[a-z0-9.:[\]@/-]{0,12}(:\d{0,6})?\/?$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), alike), (text) => {
        try {
          const { scheme, host, port } = parseSeed(text);
          expect(scheme).toMatch(/^https?$/);
          expect(host).not.toBe('');
          expect(port > 0 && port < 65536).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad-option' });
        }
      }),
    );
  });
});

describe('nodeUrl', () => {
  test.each([
    ['10.0.0.1', 3125, undefined, 'http://10.0.0.1:3125'],
    ['::1', 80, undefined, 'http://[::1]:80'],
    ['2001:0db8:0000::0001', 3125, 'https', 'https://[2001:db8::1]:3125'],
    ['::ffff:10.0.0.1', 3125, undefined, 'http://10.0.0.1:3125'],
  ])('of %s and %d over %s is %s', (address, port, scheme, url) => {
    expect(nodeUrl(address, port, scheme)).toBe(url);
  });
});

describe('resolveSeeds', () => {
  const resolve = (...texts: string[]) => resolveSeeds(texts.map(parseSeed), silentLog);

  test('an address stands for itself', async () => {
    expect(await resolve('10.0.0.1', '[2001:db8::1]:80', 'https://10.0.0.2')).toEqual([
      'http://10.0.0.1:3125',
      'http://[2001:db8::1]:80',
      'https://10.0.0.2:443',
    ]);
    expect(await resolve()).toEqual([]);
  });

  test('a name stands for its addresses', async () => {
    const urls = await resolve('localhost:4000');
    expect(urls.length).toBeGreaterThan(0);
    for (const url of urls) expect(['http://127.0.0.1:4000', 'http://[::1]:4000']).toContain(url);
  });

  test('a node that is named in several ways is found once', async () => {
    const urls = await resolve('localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '127.1');
    expect([...urls].sort()).toEqual(['http://127.0.0.1:3125', 'http://[::1]:3125']);
  });

  test('a name that does not exist is skipped and logged', async () => {
    // No resolver is asked for a label this long: the test needs no network.
    const host = `${'x'.repeat(64)}.invalid`;
    const entries: object[] = [];
    const log = { ...silentLog, debug: (fields: object) => entries.push(fields) };
    const seeds = [host, '10.0.0.1'].map(parseSeed);
    expect(await resolveSeeds(seeds, log)).toEqual(['http://10.0.0.1:3125']);
    expect(entries).toEqual([expect.objectContaining({ host })]);
  });
});
