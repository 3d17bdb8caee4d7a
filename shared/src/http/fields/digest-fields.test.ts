import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DIGEST_ALGORITHMS, type DigestAlgorithm, formatAlgorithm } from '../../base/digest.ts';
import { isMillraceError } from '../../base/errors.ts';
import { contentDigests, fileDigests } from './digest-fields.ts';
import type { Headers } from './headers.ts';

const sum = (algorithm: string, text = 'file') => createHash(algorithm).update(text).digest();
const base64 = (algorithm: string, text?: string) => sum(algorithm, text).toString('base64');
const digest = (algorithm: DigestAlgorithm, text?: string) => ({
  algorithm,
  hex: sum(algorithm, text).toString('hex'),
});

describe('the scope of digests in header fields', () => {
  const headers: Headers = {
    'repr-digest': `sha-256=:${base64('sha256')}:`,
    digest: `SHA=${base64('sha1')}`,
    'content-md5': base64('md5'),
    'content-digest': `sha-512=:${base64('sha512', 'part')}:`,
  };

  test.each([
    [200, ['sha1', 'sha256', 'md5'], ['sha512', 'md5']],
    [206, ['sha1', 'sha256'], ['sha512']],
    [304, [], []],
    [404, [], []],
    [416, [], []],
    [503, [], []],
  ])('in an answer of status %i', (status, file, content) => {
    const algorithms = (digests: { algorithm: string }[]) => digests.map((d) => d.algorithm);
    expect(algorithms(fileDigests(headers, status))).toEqual(file);
    expect(algorithms(contentDigests(headers, status))).toEqual(content);
  });

  test('digests of an encoded file are skipped unless they name the file itself', () => {
    const encoded = { ...headers, 'content-encoding': 'gzip' };
    expect(fileDigests(encoded, 200)).toEqual([]);
    expect(fileDigests({ ...headers, 'content-encoding': 'identity' }, 206)).toHaveLength(2);
    const value = `sha-256=${base64('sha256', 'packed')}, id-sha-256=${base64('sha256')}`;
    expect(fileDigests({ 'content-encoding': ['gzip'], digest: value }, 200)).toEqual([
      digest('sha256'),
    ]);
    // A digest of the content holds for an encoded part as well.
    expect(contentDigests(encoded, 206)).toEqual([digest('sha512', 'part')]);
  });
});

describe('reading digest fields', () => {
  const [md5, sha1, sha256] = [base64('md5'), base64('sha1'), base64('sha256')];

  test.each<[Headers, DigestAlgorithm[]]>([
    [{ 'repr-digest': `sha-256=:${sha256}:, md5=:${md5}:` }, ['sha256', 'md5']],
    [{ 'repr-digest': `sha-256=:${sha256}:;x="y"` }, ['sha256']],
    [{ 'repr-digest': `sha=:${sha1}:, unixsum=:AAA=:` }, ['sha1']],
    [{ 'repr-digest': [`sha-256=:${sha256}:`, `sha=:${sha1}:`] }, ['sha256', 'sha1']],
    [{ 'repr-digest': `sha-256=:${sha256}:, sha-256=:${sha256}:` }, ['sha256']],
    [{ digest: `sha-256=${sha256}, md5=${md5}` }, ['sha256', 'md5']],
    [{ digest: `SHA-256=${sha256},MD5=${md5},UNIXsum=30637,crc32c=AAAAAA==` }, ['sha256', 'md5']],
    [{ digest: `id-sha-256=${sha256}` }, ['sha256']],
    [{ digest: [`sha=${sha1}`, `nonsense, md5=${md5}`] }, ['sha1', 'md5']],
    [{ 'content-md5': md5 }, ['md5']],
    [{ digest: `md5=${md5}`, 'content-md5': [md5, md5] }, ['md5']],
  ])('%j', (headers, algorithms) => {
    expect(fileDigests(headers, 200)).toEqual(algorithms.map((name) => digest(name)));
  });

  test.each<[Headers]>([
    [{}],
    [{ 'repr-digest': '' }],
    [{ 'repr-digest': `sha-256=${sha256}` }],
    [{ 'repr-digest': `sha-256=:${sha256}:, what is this` }],
    [{ 'repr-digest': `sha-256=:${sha1}:` }],
    [{ 'repr-digest': `SHA-256=:${sha256}:` }],
    [{ 'repr-digest': `sha-256="${sha256}"` }],
    [{ 'repr-digest': `sha-256=:${'A'.repeat(9000)}:` }],
    [{ digest: `sha-256=${sum('sha256').toString('hex')}` }],
    [{ digest: `sha-256` }],
    [{ digest: '=,==,=a' }],
    [{ 'content-md5': sum('md5').toString('hex') }],
    [{ 'content-md5': '"' }],
  ])('%j proves nothing', (headers) => {
    expect(fileDigests(headers, 200)).toEqual([]);
  });

  test.each<[Headers]>([
    [{ 'repr-digest': `sha-256=:${sha256}:, sha-256=:${base64('sha256', 'other')}:` }],
    [{ digest: [`md5=${md5}`, `md5=${base64('md5', 'other')}`] }],
    [{ digest: `md5=${md5}`, 'content-md5': base64('md5', 'other') }],
    [{ 'repr-digest': `sha-256=:${sha256}:`, digest: `sha-256=${base64('sha256', 'other')}` }],
  ])('%j contradicts itself', (headers) => {
    expect(() => fileDigests(headers, 200)).toThrow(
      expect.objectContaining({ code: 'malformed-response' }),
    );
  });

  test('written digests are read back, and malformed ones are harmless', () => {
    const written = fc.uniqueArray(fc.constantFrom(...DIGEST_ALGORITHMS));
    fc.assert(
      fc.property(written, fc.string(), (algorithms, text) => {
        const expected = algorithms.map((name) => digest(name, text));
        const field = (open: string, close: string) =>
          algorithms
            .map((name) => `${formatAlgorithm(name)}=${open}${base64(name, text)}${close}`)
            .join(', ');
        expect(fileDigests({ 'repr-digest': field(':', ':') }, 206)).toEqual(expected);
        expect(contentDigests({ 'content-digest': field(':', ':') }, 206)).toEqual(expected);
        expect(fileDigests({ digest: field('', '') }, 206)).toEqual(expected);
      }),
    );
    const piece = fc.oneof(
      fc.constantFrom('sha-256', 'md5', '=', ':', ',', '"', md5, sha256, 'id-', ' '),
      fc.string({ maxLength: 4 }),
    );
    const field = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(field, field, (one, two) => {
        try {
          for (const { hex } of fileDigests(
            { 'repr-digest': one, digest: two, 'content-md5': one },
            200,
          )) {
            expect([sum('md5').toString('hex'), sum('sha256').toString('hex')]).toContain(hex);
          }
        } catch (error) {
          if (!isMillraceError(error, 'malformed-response')) throw error;
        }
      }),
    );
  });
});
