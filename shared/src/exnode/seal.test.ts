import { describe, expect, test } from '@jest/globals';
import { isMillraceError } from '../base/errors.ts';
import type { Exnode } from './exnode.ts';
import { heldToLink, linkWith, parseHead, splitLink } from './seal.ts';

const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const ROOT = 'ab'.repeat(32);
const LINK = 'https://a.example/-/d/zCwaobPqR97EU1yy/kjHn/encrypted.exnode';

/** Returns the code of the error that a call throws. */
function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (isMillraceError(error)) return error.code;
  }
  return 'none';
}

describe('a link to an exNode', () => {
  test('holds its key, or else its root, behind the address', () => {
    expect(linkWith(LINK, { key: KEY, root: ROOT })).toBe(`${LINK}#k.${KEY}`);
    expect(linkWith(LINK, { root: ROOT })).toBe(`${LINK}#r.${ROOT}`);
    expect(splitLink(`${LINK}#k.${KEY}`)).toEqual({ link: LINK, proof: { key: KEY } });
    expect(splitLink(`${LINK}#r.${ROOT}`)).toEqual({ link: LINK, proof: { root: ROOT } });
    for (const bare of [LINK, `${LINK}#`]) {
      expect(splitLink(bare)).toEqual({ link: LINK, proof: {} });
    }
  });

  test('that is cut off or changed behind # is refused', () => {
    for (const whole of [`k.${KEY}`, `r.${ROOT}`]) {
      for (let chars = 1; chars < whole.length; chars++) {
        expect(codeOf(() => splitLink(`${LINK}#${whole.slice(0, chars)}`))).toBe('wrong-key');
      }
      expect(codeOf(() => splitLink(`${LINK}#${whole}A`))).toBe('wrong-key');
    }
    // The last character of a key has bits that no byte needs: one text for one key.
    expect(codeOf(() => splitLink(`${LINK}#k.${KEY.slice(0, -1)}9`))).toBe('wrong-key');
  });

  test('is for one file: neither another one nor one without encryption is taken for it', () => {
    const exnode: Exnode = {
      ...{ name: 'a', size: 0, root: ROOT, extents: [] },
      blocks: { algorithm: 'sha256', pieceBytes: 2 ** 20, hexes: [] },
    };
    expect(heldToLink(exnode, { root: ROOT })).toBe(exnode);
    expect(heldToLink(exnode, {})).toBe(exnode);
    expect(codeOf(() => heldToLink(exnode, { root: 'cd'.repeat(32) }))).toBe('bad-exnode');
    expect(codeOf(() => heldToLink(exnode, { key: KEY }))).toBe('bad-exnode');
    const sealed = { ...exnode, sealed: 'AAAA' };
    expect(heldToLink(sealed, { key: KEY })).toEqual({ ...sealed, key: KEY });
  });
});

test('a head that is no head is refused', () => {
  for (const text of ['', '{', '[]', '{"name":"a"}', '{"name":"","sha256":"a","root":"b"}']) {
    expect(codeOf(() => parseHead(text))).toBe('bad-exnode');
  }
});
