import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  isTarget,
  MAX_PREFIX_DEPTH,
  type PurgeTarget,
  parseFileUrl,
  parsePrefix,
  parseVersion,
  prefixesOf,
  targetKey,
  widened,
} from './purge-target.ts';

describe('prefixesOf', () => {
  test.each([
    ['https://a.example/', ['https://a.example/']],
    ['https://a.example/file', ['https://a.example/']],
    [
      'http://a.example:81/x/y/file?q=/z/',
      ['http://a.example:81/', 'http://a.example:81/x/', 'http://a.example:81/x/y/'],
    ],
  ])('%s', (url, prefixes) => {
    expect(prefixesOf(url)).toEqual(prefixes);
  });

  test('are bounded, however many slashes a URL has', () => {
    expect(prefixesOf(`https://a.example${'/'.repeat(8000)}`)).toHaveLength(MAX_PREFIX_DEPTH);
  });
});

describe('parsePrefix', () => {
  test.each([
    ['example.com', 'https://example.com/'],
    ['http://example.com', 'http://example.com/'],
    ['https://EXAMPLE.com:443/*', 'https://example.com/'],
    ['example.com/a/b/', 'https://example.com/a/b/'],
    ['https://example.com/a/../c/*', 'https://example.com/c/'],
    ['127.0.0.1:8080', 'https://127.0.0.1:8080/'],
    ['https%3A%2F%2Fexample.com', 'https://example.com/'],
    ['https%3A%2F%2Fexample.com%2Fa%2F', 'https://example.com/a/'],
    ['https%3A%2F%2Fexample.com%3A8080%2Fa%2Fb%2F*', 'https://example.com:8080/a/b/'],
  ])('%s means %s', (text, prefix) => {
    expect(parsePrefix(text, 'https')).toEqual({ kind: 'prefix', prefix });
  });

  test.each([
    ['example.com/v1', 'bad-url'],
    ['example.com/v1*', 'bad-url'],
    ['https%3A%2F%2Fexample.com%2Fv1', 'bad-url'],
    ['example.com/?a=/', 'bad-url'],
    ['ftp://example.com/', 'bad-url'],
    ['https://tom:secret@example.com/', 'credentials-in-url'],
    ['', 'bad-url'],
    [`example.com${'/x'.repeat(MAX_PREFIX_DEPTH)}/`, 'bad-url'],
  ])('%s is refused', (text, code) => {
    expect(() => parsePrefix(text, 'https')).toThrow(expect.objectContaining({ code }));
  });
});

test('a version is an entity tag or a version tag', () => {
  expect(parseVersion('"a+b"')).toBe('e.a%2Bb');
  expect(parseVersion('m.1700000000.5')).toBe('m.1700000000.5');
  for (const wrong of ['', 'W/"a"', 'abc', `"${'x'.repeat(2000)}"`]) {
    expect(() => parseVersion(wrong)).toThrow(expect.objectContaining({ code: 'bad-option' }));
  }
});

test('a file without a host is refused as a URL', () => {
  expect(() => parseFileUrl('nonsense', 'https')).toThrow(
    expect.objectContaining({ code: 'bad-url' }),
  );
});

const segment = fc.stringMatching(/^[a-z0-9]{1,3}$/);
const url = fc
  .tuple(segment, fc.array(segment, { maxLength: 40 }), fc.boolean())
  .map(([host, path, slash]) => `https://${host}.example/${path.join('/')}${slash ? '/' : ''}`)
  .filter((text) => new URL(text).href === text);
const target: fc.Arbitrary<PurgeTarget> = fc.oneof(
  url.map((u) => ({ kind: 'url' as const, url: u })),
  fc.tuple(url, segment).map(([u, tag]) => ({ kind: 'version' as const, url: u, tag: `e.${tag}` })),
  url.map((u) => ({ kind: 'prefix' as const, prefix: prefixesOf(u).at(-1) as string })),
  fc.constant({ kind: 'all' as const }),
);

test('widening covers more each time, keeps the canonical form, and ends with everything', () => {
  fc.assert(
    fc.property(target, (first) => {
      let wider = first;
      for (let steps = 0; wider.kind !== 'all'; steps++) {
        expect(isTarget(wider)).toBe(true);
        expect(steps).toBeLessThan(5);
        const next = widened(wider);
        expect(targetKey(next)).not.toBe(targetKey(wider));
        if (next.kind === 'prefix') {
          const inside = wider.kind === 'prefix' ? wider.prefix : (wider as { url: string }).url;
          expect(inside.startsWith(next.prefix)).toBe(true);
        }
        wider = next;
      }
    }),
  );
});

test.each<PurgeTarget>([
  { kind: 'url', url: 'https://a.example' },
  { kind: 'url', url: 'file:///etc/passwd' },
  { kind: 'prefix', prefix: 'https://a.example/x' },
  { kind: 'prefix', prefix: 'https://a.example/?/' },
  { kind: 'version', url: 'https://a.example/', tag: 'no tag' },
])('%j is not in the canonical form', (wrong) => {
  expect(isTarget(wrong)).toBe(false);
});
