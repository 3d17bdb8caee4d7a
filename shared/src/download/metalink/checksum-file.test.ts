import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../../../testing/draws/any-text.ts';
import { DIGEST_ALGORITHMS, DIGEST_DIGITS, type DigestAlgorithm } from '../../base/digest.ts';
import { findDigests, parseChecksumFile, sidecarCandidates } from './checksum-file.ts';

const sum = (algorithm: string, text = 'file') => createHash(algorithm).update(text).digest('hex');
const digest = (algorithm: DigestAlgorithm, text?: string) => ({
  algorithm,
  hex: sum(algorithm, text),
});
const [md5, sha1, sha256, sha512] = [sum('md5'), sum('sha1'), sum('sha256'), sum('sha512')];
const other = sum('sha256', 'other');

describe('checksum files', () => {
  test.each<[string, string]>([
    ['GNU, text', `${other}  g.iso\n${sha256}  f.iso\n`],
    ['GNU, binary', `${sha256} *f.iso`],
    ['one space, capitals', `${sha256.toUpperCase()} f.iso\n`],
    ['a tab, more space', `${sha256}\tf.iso\n${other}     g.iso`],
    ['CRLF and a byte order mark', `\ufeff${sha256}  f.iso\r\n${other}  g.iso\r\n`],
    ['BSD', `SHA256 (g.iso) = ${other}\nSHA256 (f.iso) = ${sha256}\n`],
    ['OpenSSL', `SHA2-256(f.iso)= ${sha256}\nSHA256(g.iso)= ${other}`],
    ['a path', `${sha256}  ./iso/f.iso`],
    ['the same folder, and another one', `${other}  old/f.iso\n${sha256}  ./f.iso`],
    ['a Windows path', `${sha256} *iso\\f.iso`],
    [
      'comments and nonsense',
      `# f.iso: 9 bytes\n; x\n\n<html>\n${sha256}  f.iso\n${'x'.repeat(9999)}`,
    ],
    ['the same twice', `${sha256}  f.iso\nSHA256 (f.iso) = ${sha256}`],
    [
      'signed in clear',
      `${other}  f.iso
-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA512

- -----
${sha256}  f.iso
-----BEGIN PGP SIGNATURE-----

${other}
-----END PGP SIGNATURE-----
${other}  f.iso
`,
    ],
  ])('%s', (_, text) => {
    expect(findDigests(text, 'SHA256SUMS', 'f.iso')).toEqual([digest('sha256')]);
    expect(findDigests(Buffer.from(text), 'SHA256SUMS', 'f.iso')).toEqual([digest('sha256')]);
  });

  test.each<[string, string, string]>([
    [`${sha256}\n`, 'f.iso.sha256', 'f.iso'],
    [`${sha256}`, 'f.sha256', 'f.iso'],
    [`${sha256}  -\n`, 'f.iso.sha256sum', 'f.iso'],
    [`${sha256}  f.iso\n`, 'f.iso.sha256', 'f.iso'],
    [`${sha256}  md5-tool.gz\n`, 'md5-tool.gz.sha256', 'md5-tool.gz'],
    [`${sha256}\n`, 'md5-tool.gz.SHA256', 'md5-tool.gz'],
    [`${sha256}  cafe\u0301.iso\n`, 'SHA256SUMS', 'café.iso'],
    [`\\${sha256}  a\\\\b\\nc\n`, 'SHA256SUMS', 'a\\b\nc'],
    [`\\SHA256 (a\\\\b) = ${sha256}\n`, 'SHA256SUMS', 'a\\b'],
    [`SHA256 (a) = (b) = ${sha256}`, 'CHECKSUM', 'a) = (b'],
    [`${sha256}  f (1).iso`, 'sha256sum.txt', 'f (1).iso'],
  ])('%j in %s is about %j', (text, checksumName, fileName) => {
    expect(findDigests(text, checksumName, fileName)).toEqual([digest('sha256')]);
  });

  test('one file can have several algorithms', () => {
    const text = `${md5}  f\n${sha1}  f\nSHA512 (f) = ${sha512}\n${sum('sha384')}  f\n${sum('sha224')} f`;
    expect(findDigests(text, 'CHECKSUMS', 'f')).toEqual(
      (['md5', 'sha1', 'sha512', 'sha384', 'sha224'] as const).map((name) => digest(name)),
    );
  });

  test.each<[string, string, string]>([
    ['another file', `${sha256}  g.iso`, 'SHA256SUMS'],
    ['a part of the name', `${sha256}  xf.iso\n${sha256}  f.iso.sig`, 'SHA256SUMS'],
    ['a digest without a name', `${sha256}`, 'SHA256SUMS'],
    ['its own checksum file, about another file', `${sha256}  build.iso`, 'f.iso.sha256'],
    ['lengths that the name does not mean', `${sha512}  f.iso`, 'SHA256SUMS'],
    ['BLAKE2', `${sha512}  f.iso`, 'b2sums.txt'],
    ['BLAKE3', `${sha256}`, 'f.iso.b3'],
    ['SHA-3', `${sha256}  f.iso`, 'SHA3-256SUMS'],
    ['SHA-512/256', `${sha256}  f.iso`, 'f.iso.sha512_256'],
    ['RIPEMD', `${sha1}  f.iso`, 'f.iso.ripemd160'],
    ['algorithms of no known name', `SHA512/256 (f.iso) = ${sha256}`, 'CHECKSUM'],
    ['a length that the algorithm does not have', `MD5 (f.iso) = ${sha1}`, 'CHECKSUM'],
    ['a page of HTML', `<html><body>Not found: f.iso ${sha256}</body></html>`, 'f.iso.sha256'],
    ['nothing', '', 'f.iso.sha256'],
    [
      'a message whose signature is missing',
      `-----BEGIN PGP SIGNED MESSAGE-----\n\n${sha256}  f.iso`,
      'SHA256SUMS',
    ],
    ['too much', `${sha256}  f.iso\n${' '.repeat(1024 * 1024)}`, 'SHA256SUMS'],
    ['too long a line', `${sha256}  ${'d/'.repeat(3000)}f.iso`, 'SHA256SUMS'],
  ])('%s gives no digest', (_, text, checksumName) => {
    expect(findDigests(text, checksumName, 'f.iso')).toEqual([]);
  });

  test.each<[string, string]>([
    [`${sha256}  f.iso\n${other}  f.iso`, 'SHA256SUMS'],
    [`${sha256}  a/f.iso\n${other}  b/f.iso`, 'SHA256SUMS'],
    [`${sha256}\n${other}`, 'f.iso.sha256'],
    [`SHA256 (f.iso) = ${sha256}\n${other}  f.iso`, 'CHECKSUM'],
  ])('%j is ambiguous', (text, checksumName) => {
    expect(() => findDigests(text, checksumName, 'f.iso')).toThrow(
      expect.objectContaining({
        code: 'contradicting-statements',
        detail: `${checksumName} has two sha256 digests of f.iso`,
      }),
    );
  });

  test('the output of common tools is read, whatever the names', () => {
    const name = fc
      .string({
        unit: fc.oneof(fc.constantFrom('\\', '\n', '\r', '*', ')', '(', '=', '/'), fc.string()),
      })
      .map((s) => s.normalize('NFC'))
      // Space at the ends is lost; a path is matched by its last part.
      .filter(
        (s) => s.trim() === s && s !== '' && s !== '-' && !/[/\\\ufeff]|[\n\r]/.test(s[0] ?? ''),
      )
      .filter((s) => !s.includes('/') && s.length < 1000);
    const gnu = (file: string, hex: string) => {
      const escaped = file.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\r/g, '\\r');
      return `${escaped === file ? '' : '\\'}${hex}  ${escaped}\n`;
    };
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 5 }),
        fc.constantFrom(...DIGEST_ALGORITHMS),
        (names, algorithm) => {
          const text = names.map((file) => gnu(file, sum(algorithm, file))).join('');
          for (const file of names) {
            expect(findDigests(text, 'CHECKSUMS', file)).toContainEqual(digest(algorithm, file));
          }
        },
      ),
    );
  });

  test('any file is read in little time and gives only whole digests', () => {
    const piece = fc.oneof(
      fc.constantFrom(sha256, md5, '  ', ' *', '\n', 'SHA256 (', ') = ', '\\', '\0', '- '),
      anyText({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        for (const entry of parseChecksumFile(pieces.join(''), '')) {
          expect(entry.digest.hex).toMatch(/^[0-9a-f]+$/);
          expect(entry.digest.hex).toHaveLength(DIGEST_DIGITS[entry.digest.algorithm]);
        }
      }),
    );
    for (const part of ['\n', ' ', 'a', '(', ') = ', 'SHA256 (', '\\', '\t']) {
      expect(parseChecksumFile(part.repeat(1024 * 1024).slice(0, 1024 * 1024), '')).toEqual([]);
    }
  });
});

describe('the places of checksum files', () => {
  test('are beside the file, with its own name or a common name', () => {
    const candidates = sidecarCandidates('https://user@example.com/pub/f%20g.iso#x');
    expect(candidates[0]).toBe('https://example.com/pub/f%20g.iso.sha256');
    expect(candidates).toContain('https://example.com/pub/SHA256SUMS');
    expect(candidates).toContain('https://example.com/pub/MD5SUMS');
    expect(candidates.length).toBeLessThanOrEqual(12);
    expect(new Set(candidates).size).toBe(candidates.length);
  });

  test.each([
    'https://example.com/f.iso?token=1',
    'https://example.com/',
    'https://example.com/folder/',
    'https://example.com/f.iso.sha256',
    'https://example.com/SHA256SUMS',
    'https://example.com/sha256sum.txt',
    'https://example.com/f.iso.asc',
    'ftp://example.com/f.iso',
  ])('do not exist for %s', (url) => {
    expect(sidecarCandidates(url)).toEqual([]);
  });
});
