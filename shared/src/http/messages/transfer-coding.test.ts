import { describe, expect, test } from '@jest/globals';
import { readTransferCodings } from './transfer-coding.ts';

describe('Transfer-Encoding', () => {
  test.each([
    ['chunked', true, undefined],
    ['Chunked, chunked', true, undefined],
    [['chunked', 'chunked'], true, undefined],
    ['gzip, chunked', true, 'gzip'],
    [['X-GZip', ' chunked '], true, 'gzip'],
    ['deflate,chunked', true, 'deflate'],
    ['gzip', false, 'gzip'],
  ])('%j is read', (value, isChunked, compression) => {
    expect(readTransferCodings(value)).toEqual({ isChunked, compression });
  });

  test.each([
    undefined,
    '',
    ',',
    'br, chunked',
    'gzip, gzip, chunked',
    'chunked, gzip',
    'chunked, gzip, chunked',
    'gzip, chunked; q=1',
    'identity',
    'constructor',
  ])('%j is refused: it does not show what the body is', (value) => {
    expect(readTransferCodings(value)).toBeUndefined();
  });
});
