import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyPath } from '../../../testing/draws/any-text.ts';
import {
  documentLinkOf,
  fileLinkOf,
  formatDepotLink,
  hideSecrets,
  holdsSecret,
  isDepotTarget,
  parseDepotTarget,
} from './depot-link.ts';

const text = (length: number) =>
  fc
    .array(fc.constantFrom(...'ABCxyz019-_'), { minLength: length, maxLength: length })
    .map((chars) => chars.join(''));
const link = fc.record({
  kind: fc.constantFrom('read' as const, 'write' as const, 'manage' as const),
  id: text(16),
  secret: text(32),
});
const ID = 'ABCDEFGHIJKLMNOP';
const SECRET = 'abcdefghijklmnopqrstuvwxyz012345';

describe('capabilities', () => {
  test('are read as they are written, whatever the name of the file', () => {
    fc.assert(
      fc.property(link, fc.string({ unit: 'grapheme', minLength: 1 }), (capability, name) => {
        const target = formatDepotLink(capability, name.toWellFormed());
        expect(parseDepotTarget(target)).toEqual(capability);
        expect(isDepotTarget(target)).toBe(true);
      }),
    );
  });

  test('are shown by their id, wherever in a text', () => {
    fc.assert(
      fc.property(link, anyPath(), (capability, path) => {
        const target = formatDepotLink(capability, 'secret plan.pdf');
        for (const shown of [
          hideSecrets(target),
          hideSecrets(`https://edge.example${target}?a=b`),
          hideSecrets(`GET ${path} https://edge.example${target} 200`),
        ]) {
          expect(shown).toContain(`/${capability.id}/…`);
          expect(shown).not.toContain(capability.secret);
          expect(shown).not.toContain('plan');
        }
      }),
    );
    expect(hideSecrets('https://a.example/-/d/short/x')).toBe('https://a.example/-/d/short/x');
  });

  test('are shown by their id where a URL is percent-encoded as a whole, however often', () => {
    fc.assert(
      fc.property(link, fc.integer({ min: 1, max: 3 }), (capability, times) => {
        let target = `https://depot.example${formatDepotLink(capability, 'plan.pdf')}`;
        for (let i = 0; i < times; i++) target = encodeURIComponent(target);
        for (const text of [target, target.replaceAll('%2F', '%2f')]) {
          const shown = hideSecrets(`https://edge.example/${text}`);
          expect(shown).toContain(capability.id);
          expect(shown).not.toContain(capability.secret);
          expect(holdsSecret(text)).toBe(true);
        }
      }),
    );
  });

  test.each([
    ['the path of allocations', '/-/depot', { kind: 'create', query: '' }],
    ['the same with a query', '/-/depot?for=7d', { kind: 'create', query: 'for=7d' }],
    ['a name', '/-/depot/a%20b?for=7d', { kind: 'put', name: 'a%20b', query: 'for=7d' }],
    ['a link without a name', `/-/d/${ID}/${SECRET}`, { kind: 'read', id: ID, secret: SECRET }],
    ['a link with a query', `/-/d/${ID}/${SECRET}/a?b`, { kind: 'read', id: ID, secret: SECRET }],
    ['a link to a file', `/-/f/${ID}/${SECRET}/a%20b?c`, { kind: 'file', id: ID, secret: SECRET }],
    ['a pull', `/-/depot/w/${ID}/${SECRET}/pull`, { kind: 'pull', id: ID, secret: SECRET }],
    ['a pull behind a link to manage', `/-/depot/m/${ID}/${SECRET}/pull`, undefined],
    ['a short secret', `/-/d/${ID}/${SECRET.slice(1)}/a`, undefined],
    ['a long id', `/-/d/A${ID}/${SECRET}/a`, undefined],
    ['a folder behind the name', `/-/d/${ID}/${SECRET}/a/b`, undefined],
    ['another kind', `/-/depot/r/${ID}/${SECRET}`, undefined],
    ['a name behind a write capability', `/-/depot/w/${ID}/${SECRET}/a`, undefined],
    ['nothing', '/-/depot/', undefined],
  ])('%s: %s', (_, target, expected) => {
    expect(parseDepotTarget(target)).toEqual(expected);
    expect(isDepotTarget(target)).toBe(true);
  });

  test('to a file and to its exNode lead to each other', () => {
    const document = `https://a.example/-/d/${ID}/${SECRET}/a%20b.exnode`;
    const link = `https://a.example/-/f/${ID}/${SECRET}/a%20b`;
    expect(fileLinkOf(document, 'a b')).toBe(link);
    const own = `https://a.example/-/d/${ID}/${SECRET}/file.exnode`;
    expect(documentLinkOf(link)).toBe(own);
    expect(documentLinkOf(`${link}#r.12`)).toBe(`${own}#r.12`);
    const others = [
      document,
      'https://a.example/-/f/x',
      'a b',
      `ftp://a.example/-/f/${ID}/${SECRET}`,
    ];
    expect(others.map((other) => documentLinkOf(other))).toEqual(others.map(() => undefined));
    expect(fileLinkOf('https://a.example/a.exnode', 'a')).toBeUndefined();
    expect(hideSecrets(link)).toBe(`https://a.example/-/f/${ID}/…`);
  });

  test.each([
    '/',
    '/-/dashboard',
    '/-/depots',
    '/-/files',
    '/-/status',
    '/https://a.example/-/d/x',
    undefined,
  ])('%s is not for the depot', (target) => {
    expect(isDepotTarget(target)).toBe(false);
  });
});
