/** Descriptions of downloads: journals, manifests, lists of digests, links, names. */

import fc from 'fast-check';
import { DIGEST_DIGITS } from '../../shared/src/base/digest.ts';
import {
  formatEntry,
  formatFlushed,
  formatHeader,
  formatProven,
  parseJournal,
} from '../../shared/src/download/journal/journal.ts';
import { parseChecksumFile } from '../../shared/src/download/metalink/checksum-file.ts';
import { safeFileName } from '../../shared/src/download/request/file-name.ts';
import { harmOfName } from '../../shared/src/download/request/harmful-name.ts';
import { linksInText } from '../../shared/src/download/request/links-in-text.ts';
import { EMPTY_SHA256, formatManifest, parseManifest } from '../../shared/src/sync/manifest.ts';
import { anyText } from '../../shared/testing/draws/any-text.ts';
import { mutatedJsonText, mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, holdInside, readOrRefuse, weightOf } from '../target.ts';

const HASH = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const MEGABYTE = 2 ** 20;

const JOURNAL =
  formatHeader({ url: 'https://a.example/f?x=1', length: 5000, validators: { etag: '"v1"' } }) +
  formatEntry({ range: { start: 0, end: 1000 }, digest: '0123456789abcdef' }) +
  formatFlushed(1) +
  formatProven({ range: { start: 0, end: 900 }, by: '0123456789abcdef'.repeat(2) }) +
  formatEntry({ range: { start: 1000, end: 5000 }, digest: 'fedcba9876543210' });

const MANIFEST = {
  format: 'millrace-sync',
  version: 1,
  url: 'https://a.example/folder/',
  archive: { path: 'all.tar', size: 3, sha256: HASH },
  folders: ['empty', 'a/b'],
  files: [
    { path: 'a/b.txt', size: 3, sha256: HASH, mode: '644', modified: 1_700_000_000_000 },
    { path: 'ünï', size: 0, sha256: EMPTY_SHA256, mode: '755', modified: 0 },
    {
      path: 'large',
      size: 100_000,
      sha256: HASH.replace('b', 'c'),
      mode: '600',
      modified: 5,
      pieces: { bytes: 65_536, sha256: [HASH, HASH] },
    },
  ],
};

const SUMS = [
  `${HASH}  a file.iso\n${HASH} *b.iso\n`,
  `SHA256 (a.iso) = ${HASH}\nMD5(b)= 900150983cd24fb0d6963f7d28e17f72\n`,
  `\\${HASH}  a\\nb\n${HASH}\n`,
  `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n${HASH}  a\n- -b\n-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----\n`,
];

export const targets = [
  fuzzTarget({
    name: 'journal',
    cases: mutatedText([JOURNAL]),
    check(text) {
      const journal = parseJournal(text);
      if (journal === undefined) return 'refused';
      const { header, entries, flushed, proven } = journal;
      const { etag, weakEtag, lastModified } = header.validators;
      hold(
        [etag, weakEtag].every((tag) => tag === undefined || typeof tag === 'string'),
        'tags are texts',
      );
      hold(lastModified === undefined || Number.isFinite(lastModified), 'a date is a number');
      hold(flushed >= 0 && flushed <= entries.length, 'no more lines are flushed than there are');
      for (const { range } of [...entries, ...proven]) {
        hold(
          range.start >= 0 && range.start < range.end && range.end <= header.length,
          'ranges are in the file',
        );
      }
      for (const { digest } of entries) {
        hold(/^[0-9a-f]{16}$/.test(digest), 'digests are well formed');
        hold(text.includes(digest), 'nothing is made up');
      }
      const written =
        formatHeader(header) +
        entries.map(formatEntry).join('') +
        proven.map(formatProven).join('');
      const again = parseJournal(written);
      holdEqual([again?.entries, again?.proven], [entries, proven], 'it round-trips');
      hold(weightOf(journal) <= 40 * text.length + 1000, 'memory is in proportion to the journal');
    },
    found: ['null\n', `${JOURNAL.slice(0, JOURNAL.indexOf('\n')).replace('"\\"v1\\""', '7')}\n`],
    long: {
      'many short lines': () => JOURNAL + '[0,1,"0123456789abcdef"]\n'.repeat(40_000),
      'many line ends': () => JOURNAL + '\n'.repeat(MEGABYTE),
      'brackets inside brackets': () => `${JOURNAL + '['.repeat(MEGABYTE)}\n`,
    },
  }),
  fuzzTarget({
    name: 'manifest',
    cases: mutatedJsonText([MANIFEST]),
    check(text) {
      let sound = false;
      for (const windows of [false, true]) {
        const read = readOrRefuse(['bad-manifest'], () => parseManifest(text, windows));
        if (read === undefined) continue;
        sound = true;
        for (const { path } of read.files) holdInside(path);
        for (const folder of read.folders) holdInside(folder);
        hold(
          !read.files.some(({ path }) => path.toLowerCase().startsWith('.millrace-sync')),
          'no path is in our own folder',
        );
        const again = parseManifest(formatManifest(read), windows);
        hold(formatManifest(again) === formatManifest(read), 'it round-trips');
      }
      if (!sound) return 'refused';
    },
    long: {
      'a path of a megabyte': () =>
        JSON.stringify({ ...MANIFEST, folders: ['a/'.repeat(MEGABYTE / 2)] }),
      'many folders': () =>
        JSON.stringify({
          ...MANIFEST,
          folders: Array.from({ length: 10_000 }, (_, i) => `d${i}/e`),
        }),
      'brackets inside brackets': () => '['.repeat(MEGABYTE),
    },
  }),
  fuzzTarget({
    name: 'checksum-file',
    cases: mutatedText(SUMS),
    check(text) {
      let found = 0;
      for (const suffix of ['.sha256', 'SHA256SUMS', '']) {
        const entries = parseChecksumFile(text, suffix);
        found += entries.length;
        for (const { digest, name } of entries) {
          hold(
            digest.hex.length === DIGEST_DIGITS[digest.algorithm],
            'a digest is as long as it must be',
          );
          hold(text.toLowerCase().includes(digest.hex), 'no digest is made up');
          hold(name === undefined || text.length >= name.length, 'a name is of the file');
        }
        hold(weightOf(entries) <= 12 * text.length + 1000, 'memory is in proportion to the file');
      }
      if (found === 0) return 'refused';
    },
    long: {
      'brackets and equals signs': () => `SHA256 (${')='.repeat(400_000)}`,
      'one line of digits': () => 'a'.repeat(MEGABYTE),
      'many signatures begun': () => '-----BEGIN PGP SIGNED MESSAGE-----\n'.repeat(29_000),
      'lines full of brackets': () => `SHA256 (${') = a'.repeat(700)}\n`.repeat(250),
      'many blanks': () => `${HASH}${' '.repeat(MEGABYTE - 100)}a`,
    },
  }),
  fuzzTarget({
    name: 'links-in-text',
    cases: mutatedText([
      'See https://a.example/f.iso, and (http://b.example/x_(1).zip).',
      '<a href="https://a.example/?a=1&amp;b=2#c">x</a> [y](http://b.example/y)',
    ]),
    check(text) {
      const { urls } = linksInText(text);
      if (urls.length === 0) return 'refused';
      for (const url of urls) hold(/^https?:$/.test(new URL(url).protocol), 'only web addresses');
      hold(new Set(urls).size === urls.length, 'each address once');
      holdEqual(
        linksInText(urls.join('\n')).urls.length <= urls.length,
        true,
        'no more than there are',
      );
    },
    long: {
      'dots after an address': () => `http://a/${'.'.repeat(MEGABYTE)}a`,
      'brackets after an address': () => `http://a/${')'.repeat(MEGABYTE)}`,
      'brackets and dots in turn': () => `http://a/${').'.repeat(MEGABYTE / 2)}`,
      'many beginnings': () => 'http://'.repeat(150_000),
      'many ampersands': () => `http://a/${'&amp;'.repeat(200_000)}`,
    },
  }),
  fuzzTarget({
    name: 'file-name',
    takesAll: true,
    cases: fc.oneof(
      mutatedText([
        ...['a file.tar.gz', 'CON.txt', '../../etc/passwd', '..', 'ünï\u202egpj.exe'],
        ...['desktop.ini', 'x.lnk', `${'a'.repeat(196)}.url~~`, '~1.~2', '-x.{c}'],
      ]),
      anyText({ maxLength: 400 }),
    ),
    check(text) {
      const name = safeFileName(text);
      holdInside(name);
      hold(
        !/[/\\:*?"<>|]/.test(name) && Buffer.byteLength(name) <= 200,
        'any file system takes it',
      );
      hold(!/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name), 'it names no device');
      hold(harmOfName(name) === undefined, 'nothing reads it by itself');
      hold(!/^[-.~]|~$/.test(name), 'nothing hides it or takes it for an option');
      hold(name.isWellFormed(), 'it is Unicode text');
      hold(safeFileName(name) === name, 'a safe name is left as it is');
    },
    found: ['\ud800', 'a\udc00.txt', 'le\u200b\u0301e.tar.gz'],
    long: {
      'dots before the last letter': () => `a${'.'.repeat(MEGABYTE)}a`,
      'blanks before the last letter': () => `a${' '.repeat(MEGABYTE)}a`,
      'tildes and dots before the last letter': () => `a${'~.'.repeat(MEGABYTE / 2)}a`,
      'tildes and dots at the end': () => `a${'~.'.repeat(MEGABYTE / 2)}`,
      braces: () => '.{'.repeat(MEGABYTE / 2),
      'many slashes': () => '/'.repeat(MEGABYTE),
    },
  }),
];
