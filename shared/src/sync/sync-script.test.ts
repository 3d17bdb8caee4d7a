import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Manifest } from './manifest.ts';
import { quote, syncScript, touchTime } from './sync-script.ts';

const MANIFEST: Manifest = {
  url: 'https://example.com/dir/',
  folders: [],
  files: [
    { path: 'a b', size: 3, sha256: '0'.repeat(64), mode: '755', modified: 1_600_000_000_999 },
  ],
};

describe('scripts', () => {
  test('list each file with everything that is needed to fetch it', () => {
    const script = syncScript(MANIFEST, { edges: [], direct: true });
    const field = `sha-256=:${'A'.repeat(43)}=:`;
    expect(script).toContain(
      `\nf 3 ${'0'.repeat(64)} ${field} 1 202009131226.40 0 'a b' 'a%20b'\n`,
    );
  });

  test('ask the origin if there are no edges, and otherwise only if told to', () => {
    const directOf = (edges: string[], direct: boolean) =>
      /^direct=(\d)$/m.exec(syncScript(MANIFEST, { edges, direct }))?.[1];
    expect([
      directOf([], false),
      directOf(['http://e'], false),
      directOf(['http://e'], true),
    ]).toEqual(['1', '0', '1']);
  });

  test('accept edges with and without a final slash', () => {
    const script = syncScript(MANIFEST, { edges: ['http://a:1/', 'http://b'], direct: false });
    expect(script).toContain("    0) base='http://a:1/' ;;\n    1) base='http://b/' ;;");
  });

  test('quote any text so that the shell reads it back', () => {
    expect(quote("it's $HOME")).toBe("'it'\\''s $HOME'");
    fc.assert(
      fc.property(fc.string(), (text) => {
        // A shell reads quoted parts as they are, and \' between them as an apostrophe.
        const read = quote(text).replace(/'([^']*)'|\\'/g, (_, part) => part ?? "'");
        expect(read).toBe(text);
      }),
    );
  });

  test.each([
    [0, '197001010000.00'],
    [253_402_300_799_999, '999912312359.59'],
  ])('%d ms are %s for touch', (modified, text) => {
    expect(touchTime(modified)).toBe(text);
  });
});
