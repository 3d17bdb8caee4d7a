import { expect, test } from '@jest/globals';
import { looksLikeMetalink } from './metalink-types.ts';

test.each([
  ['application/metalink4+xml', 'x', true],
  ['Application/Metalink+XML; charset=utf-8', 'x', true],
  ['text/xml', 'x.meta4', true],
  [undefined, 'x.METALINK', true],
  ['text/xml', 'x.xml', false],
  [undefined, 'meta4', false],
])('%s with the name %s is a Metalink document: %s', (type, name, is) => {
  expect(looksLikeMetalink(type, name)).toBe(is);
});
