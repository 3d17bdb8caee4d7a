import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readTxt, txtOf } from './announcement.ts';

const strings = (members: Record<string, string>) =>
  Object.entries(members).map(([key, value]) => `${key}=${value}`);
const ANNOUNCED = { port: 3125, name: 'attic:3125', version: '0.1.0', tlsUrl: undefined };

describe('the TXT record', () => {
  test('is read as it was written, with and without TLS', () => {
    expect(readTxt(strings(txtOf(ANNOUNCED)))).toEqual({ tlsHost: undefined, name: 'attic:3125' });
    const tlsUrl = 'https://attic.example.net:3125';
    expect(readTxt(strings(txtOf({ ...ANNOUNCED, tlsUrl })))?.tlsHost).toBe('attic.example.net');
  });

  test('leaves out a value that is too long', () => {
    const tlsUrl = `https://${'a.'.repeat(120)}example`;
    expect(Object.keys(txtOf({ ...ANNOUNCED, tlsUrl }))).not.toContain('url');
  });

  test.each([
    ['another version', ['txtvers=2', 'path=/']],
    ['no version', ['path=/']],
    ['another path', ['txtvers=1', 'path=/admin']],
    ['TLS without a name', ['txtvers=1', 'tls=1']],
    ['TLS with an address for a name', ['txtvers=1', 'tls=1', 'url=https://192.168.1.1']],
    ['TLS with a name of the network', ['txtvers=1', 'tls=1', 'url=https://router.lan']],
    ['TLS with this machine for a name', ['txtvers=1', 'tls=1', 'url=https://localhost']],
    ['TLS with a URL without it', ['txtvers=1', 'tls=1', 'url=http://edge.example']],
  ])('of %s is not used', (_, given) => {
    expect(readTxt(given)).toBeUndefined();
  });

  test('the first of two values counts', () => {
    expect(readTxt(['txtvers=1', 'NAME=one', 'name=two'])?.name).toBe('one');
  });

  test('a name is short, and has nothing that a terminal obeys', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 240 }), (name) => {
        const shown = readTxt(['txtvers=1', `name=${name}`])?.name ?? '';
        expect([...shown].length).toBeLessThanOrEqual(60);
        expect(shown).not.toMatch(/[\p{C}<>&"'\\]/u);
      }),
    );
  });
});
