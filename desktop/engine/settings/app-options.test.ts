import { describe, expect, test } from '@jest/globals';
import { DEFAULT_APPEARANCE, DEFAULT_DOWNLOADS } from '@millrace/shared/bridge/rpc/settings-api';
import { appSchema, changedApp } from './app-options.ts';
import { changedEdge, withEdge, withoutEdge } from './kept-edges.ts';

const USUAL = appSchema.parse({});

describe('stored settings', () => {
  test('start with the defaults, and replace unreadable values with the defaults', () => {
    expect(USUAL).toMatchObject({
      proxy: null,
      language: 'system',
      appearance: DEFAULT_APPEARANCE,
      defaults: DEFAULT_DOWNLOADS,
      preferences: {},
    });
    const odd = { appearance: { theme: 'pink' }, language: 'de', preferences: 7 };
    expect(appSchema.parse(odd)).toEqual({ ...USUAL, language: 'de' });
  });

  test('change only where a change says so', () => {
    const dark = changedApp(USUAL, { appearance: { theme: 'dark' }, proxy: 'http://p.example:1' });
    expect(dark.appearance).toEqual({ ...DEFAULT_APPEARANCE, theme: 'dark' });
    expect(dark).toEqual({ ...USUAL, appearance: dark.appearance, proxy: 'http://p.example:1' });
    expect(changedApp(dark, { proxy: null }).proxy).toBeNull();
  });

  test('hold a limited number of small preferences', () => {
    const some = changedApp(USUAL, { preferences: { a: 1, b: true } });
    expect(changedApp(some, { preferences: { a: null, c: 'x' } }).preferences).toEqual({
      b: true,
      c: 'x',
    });
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`p${i}`, i]));
    expect(() => changedApp(USUAL, { preferences: many })).toThrow(/at most 64/);
  });

  test.each(['ftp://p.example', 'http://', 'http://p.example/path'])(
    'refuse a proxy such as %s',
    (proxy) => {
      expect(() => changedApp(USUAL, { proxy })).toThrow(/proxy/);
    },
  );
});

describe('the list of edges', () => {
  const one = withEdge([], ' edge.example:3125 ', 'home');

  test('identifies an edge by scheme, host and port', () => {
    expect(one).toEqual([{ url: 'http://edge.example:3125', name: 'home', enabled: true }]);
    const two = withEdge(one, 'https://Other.example/some/path?x');
    expect(two[1]).toEqual({ url: 'https://other.example', name: '', enabled: true });
    expect(withoutEdge(two, 'edge.example:3125/')).toEqual([two[1]]);
    const off = changedEdge(two, 'edge.example:3125', { enabled: false });
    expect(off).toEqual([{ ...two[0], enabled: false }, two[1]]);
    expect(changedEdge(two, 'https://other.example', { name: 'x' })[1]).toMatchObject({
      name: 'x',
    });
  });

  test('holds each edge once, and at most 16 edges', () => {
    expect(() => withEdge(one, 'http://edge.example:3125/')).toThrow(/already/);
    expect(() => withoutEdge(one, 'edge.example')).toThrow(/not in the list/);
    expect(() => withEdge(one, 'ftp://edge.example')).toThrow();
    expect(() => withEdge(one, 'http://user:secret@edge.example')).toThrow();
    let list = one;
    while (list.length < 16) list = withEdge(list, `e${list.length}.example`);
    expect(() => withEdge(list, 'late.example')).toThrow(/at most 16/);
  });
});
