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

  test('without a journal nothing is known of them', () => {
    expect(judge({ before: undefined })).toBe('useless');
  });

  test('a tag that another URL has too proves nothing', () => {
    const before = { url: elsewhere, length: 1000, validators: tagged };
    expect(judge({ before })).toBe('unproven');
    expect(judge({ before, keepUnproven: false })).toBe('useless');
    expect(judge({ before, ownUrls: [url, elsewhere] })).toBe('proven');
    // A download that knows no other URLs owns every partial file with its name.
    expect(judge({ before, ownUrls: undefined })).toBe('proven');
  });

  test('validators that differ, or pin nothing, leave them to be compared', () => {
    const header = { url, length: 1000, validators: { etag: '"b"' } };
    expect(judge({ header })).toBe('unproven');
    expect(judge({ header, keepUnproven: false })).toBe('useless');
    // A date within whose second the file may have changed once more.
    const weak = { lastModified: 1_000_000 };
    const before = { url, length: 1000, validators: weak };
    expect(judge({ before, header: { url, length: 1000, validators: weak } })).toBe('unproven');
  });

  test('another length is another version of an own file, and no business of ours elsewhere', () => {
    const header = { url, length: 2000, validators: tagged };
    expect(judge({ header })).toBe('useless');
    const before = { url: elsewhere, length: 1000, validators: tagged };
    expect(judge({ before, header })).toBe('foreign');
    expect(judge({ before, header, overwrite: true })).toBe('useless');
    expect(judge({ before, header, ownUrls: undefined })).toBe('useless');
    expect(judge({ before, header, ownUrls: [url, elsewhere] })).toBe('useless');
  });

  test('a file of unknown length goes on with nothing, and gives up nothing of others', () => {
    const header = { url, length: undefined, validators: {} };
    expect(judge({ header })).toBe('useless');
    const before = { url: elsewhere, length: 1000, validators: tagged };
    expect(judge({ before, header })).toBe('foreign');
  });
});
