import { describe, expect, test } from '@jest/globals';
import { type EarlierPartial, judgeEarlier } from './earlier-partial.ts';

const url = 'https://example.com/f';
const elsewhere = 'https://example.com/g';
const tagged = { etag: '"a"' };

/** Judges bytes from the same URL, of the same length and version, with some differences. */
function judge(but: Partial<EarlierPartial>) {
  return judgeEarlier({
    before: { url, length: 1000, validators: tagged },
    header: { url, length: 1000, validators: tagged },
    ownUrls: [url],
    keepUnproven: true,
    overwrite: false,
    ...but,
  });
}

describe('judgeEarlier', () => {
  test('bytes of the same version from the same URL are proven', () => {
    expect(judge({})).toBe('proven');
    expect(judge({ ownUrls: undefined })).toBe('proven');
  });

  test('bytes without a journal are useless', () => {
    expect(judge({ before: undefined })).toBe('useless');
  });

  test('an entity tag that another URL shares proves nothing', () => {
    const before = { url: elsewhere, length: 1000, validators: tagged };
    expect(judge({ before })).toBe('unproven');
    expect(judge({ before, keepUnproven: false })).toBe('useless');
    expect(judge({ before, ownUrls: [url, elsewhere] })).toBe('proven');
    // Without a list of URLs, any partial file of that name counts as the download's own.
    expect(judge({ before, ownUrls: undefined })).toBe('proven');
  });

  test('bytes stay unproven if validators differ or pin nothing', () => {
    const header = { url, length: 1000, validators: { etag: '"b"' } };
    expect(judge({ header })).toBe('unproven');
    expect(judge({ header, keepUnproven: false })).toBe('useless');
    // A weak date: the file may have changed again within that second.
    const weak = { lastModified: 1_000_000 };
    const before = { url, length: 1000, validators: weak };
    expect(judge({ before, header: { url, length: 1000, validators: weak } })).toBe('unproven');
  });

  test('another length makes our own bytes useless, and bytes of another URL foreign', () => {
    const header = { url, length: 2000, validators: tagged };
    expect(judge({ header })).toBe('useless');
    const before = { url: elsewhere, length: 1000, validators: tagged };
    expect(judge({ before, header })).toBe('foreign');
    expect(judge({ before, header, overwrite: true })).toBe('useless');
    expect(judge({ before, header, ownUrls: undefined })).toBe('useless');
    expect(judge({ before, header, ownUrls: [url, elsewhere] })).toBe('useless');
  });

  test('a file of unknown length resumes nothing, and discards no foreign bytes', () => {
    const header = { url, length: undefined, validators: {} };
    expect(judge({ header })).toBe('useless');
    const before = { url: elsewhere, length: 1000, validators: tagged };
    expect(judge({ before, header })).toBe('foreign');
  });
});
