/** Header fields in responses of origins, mirrors and edges, and in requests of clients. */

import fc from 'fast-check';
import { nameFor } from '../../desktop/engine/download/server-name.ts';
import { DIGEST_DIGITS } from '../../shared/src/base/digest.ts';
import { parseMirrorLinks } from '../../shared/src/download/metalink/mirror-links.ts';
import { readFreshness } from '../../shared/src/http/answers/freshness.ts';
import { parseContentRange } from '../../shared/src/http/fields/content-range.ts';
import { contentDigests, fileDigests } from '../../shared/src/http/fields/digest-fields.ts';
import { formatHttpDate, parseHttpDate } from '../../shared/src/http/fields/http-date.ts';
import { formatKnownDigest, readKnownDigest } from '../../shared/src/http/fields/known-digest.ts';
import { parseRange, resolveRanges } from '../../shared/src/http/fields/range-header.ts';
import { parseRetryAfter } from '../../shared/src/http/fields/retry-after.ts';
import { parseEtagList, readValidators } from '../../shared/src/http/fields/validators.ts';
import { parseEdgeLinks } from '../../shared/src/http/urls/edge-links.ts';
import { parseLinks } from '../../shared/src/http/urls/link.ts';
import { mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, readOrRefuse, weightOf } from '../target.ts';

const MEGABYTE = 2 ** 20;
const URL_ASKED = 'https://a.example/folder/f.iso';

const LINKS = [
  '<https://m.example/f>; rel=duplicate; pri=1; geo=de; pref; depth=2, </f.meta4>; rel="describedby"; type="application/metalink4+xml"',
  '<https://edge.example/>; rel="https://millrace.dev/rel/edge", <x>; rel="a b"; anchor="#f"; title="a, \\"b\\""',
  '<>;;;=;a="b";;rel=duplicate,,<a',
];
const DIGESTS = [
  'sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:',
  'md5=:kAFQmDzST7DWlj99KOF/cg==:;a=b, sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:',
  'SHA-256=ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=, id-md5=kAFQmDzST7DWlj99KOF/cg==',
];
const DATES = [
  'Sun, 06 Nov 1994 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37 GMT',
  'Sun Nov  6 08:49:37 1994',
];

/** Splits a value into several lines of one field, as Node presents them. */
const asLines = (value: string) => value.split('\n');

export const targets = [
  fuzzTarget({
    name: 'link-field',
    takesAll: true,
    cases: mutatedText(LINKS),
    check(value) {
      const headers = { link: asLines(value) };
      const links = parseLinks(headers);
      hold(links.length <= 256, 'links are bounded');
      hold(weightOf(links) <= 60 * value.length + 1000, 'memory is in proportion to the field');
      for (const edge of parseEdgeLinks(headers, URL_ASKED)) {
        const url = new URL(edge);
        hold(
          url.protocol === 'https:' && url.username + url.password + url.search + url.hash === '',
          'an edge is a plain https address',
        );
      }
      const { mirrors, metalinks } = parseMirrorLinks(headers, URL_ASKED);
      hold(mirrors.length <= 64 && metalinks.length <= 8, 'mirrors are bounded');
      for (const url of [...mirrors.map((mirror) => mirror.url), ...metalinks]) {
        const { protocol, username, password, hash } = new URL(url);
        hold(
          /^https?:$/.test(protocol) && username + password + hash === '',
          'a mirror is a web address',
        );
      }
    },
    long: {
      'links that are never closed': () => '<'.repeat(65_536),
      'many empty links': () => '<>,'.repeat(21_000),
      'a text that is never closed': () => `<a>;a="${'\\"'.repeat(32_000)}`,
      'many parameters': () => `<a>${';a'.repeat(32_000)}`,
      'blanks in a parameter': () => `<a>;a=${' '.repeat(65_000)}b`,
    },
  }),
  fuzzTarget({
    name: 'digest-fields',
    takesAll: true,
    cases: fc.tuple(mutatedText(DIGESTS), fc.constantFrom(200, 206, 404), fc.boolean()),
    check([value, status, encoded]) {
      const headers = {
        'repr-digest': value,
        digest: value,
        'content-digest': asLines(value),
        'content-md5': value.slice(0, 24),
        ...(encoded ? { 'content-encoding': 'gzip' } : {}),
      };
      for (const read of [fileDigests, contentDigests]) {
        for (const { algorithm, hex } of readOrRefuse(['malformed-response'], () =>
          read(headers, status),
        ) ?? []) {
          hold(
            hex.length === DIGEST_DIGITS[algorithm] && /^[0-9a-f]+$/.test(hex),
            'a digest is as long as it must be',
          );
          const bytes = Buffer.from(hex, 'hex').toString('base64').replace(/=+$/, '');
          hold(value.includes(bytes.slice(0, -1)), 'no digest is made up');
        }
      }
      const known = readOrRefuse(['bad-request'], () =>
        readKnownDigest({ 'millrace-digest': value }),
      );
      if (known !== undefined) {
        const [one, other] = [value.trim(), formatKnownDigest(known)];
        // The last character of base64 may have unused bits.
        hold(one.slice(0, 51) === other.slice(0, 51), 'it round-trips');
      }
    },
    long: { 'many commas': (): [string, 200, boolean] => [','.repeat(MEGABYTE), 200, false] },
  }),
  fuzzTarget({
    name: 'ranges',
    cases: fc.tuple(
      mutatedText([
        'bytes=0-99',
        'bytes=0-0,5-9, -5 ,100-',
        'bytes 0-99/100',
        'bytes */100',
        'bytes 5-9/*',
      ]),
      fc.oneof(fc.nat(200), fc.constantFrom(0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER)),
    ),
    check([value, length]) {
      const specs = parseRange(value);
      const asked = specs === undefined ? undefined : resolveRanges(specs, length);
      if (asked !== undefined) {
        for (const { start, end } of asked) {
          hold(
            Number.isSafeInteger(start) && start >= 0 && start < end && end <= length,
            'a range lies in the file',
          );
        }
        const sorted = [...asked].sort((a, b) => a.start - b.start);
        for (const [i, range] of sorted.entries()) {
          const next = sorted[i + 1];
          hold(next === undefined || range.end < next.start, 'no byte is sent twice');
        }
      }
      const content = parseContentRange(value);
      if (asked === undefined && content === undefined) return 'refused';
      if (content?.kind === 'range') {
        const { range, total } = content;
        hold(
          range.start < range.end && range.end <= (total ?? range.end),
          'a part lies in the file',
        );
      }
    },
    long: { 'many ranges': (): [string, number] => [`bytes=${'0-0,'.repeat(MEGABYTE / 4)}`, 100] },
  }),
  fuzzTarget({
    name: 'dates-and-validators',
    takesAll: true,
    cases: mutatedText([
      ...DATES,
      '"etag"',
      'W/"etag"',
      '"a", W/"b",*',
      '120',
      'max-age=5, s-maxage="6", no-cache="a,b"',
      'private;x',
    ]),
    check(value) {
      const date = parseHttpDate(value);
      hold(date === undefined || Number.isSafeInteger(date), 'a date is a number');
      if (date !== undefined && date >= 0)
        hold(parseHttpDate(formatHttpDate(date)) === date, 'a date round-trips');
      const wait = parseRetryAfter(value, 1e12);
      hold(
        wait === undefined || (wait >= 0 && Number.isSafeInteger(wait)),
        'a wait is not negative',
      );
      const { etag, weakEtag } = readValidators({
        etag: value,
        'last-modified': value,
        date: value,
      });
      for (const tag of [etag, weakEtag])
        hold(tag === undefined || /^[\x21-\x7e\x80-\xff]+$/.test(tag), 'a tag can be sent');
      const list = parseEtagList(value);
      hold(weightOf(list) <= 20 * value.length + 100, 'memory is in proportion to the field');
      const fresh = readFreshness(
        { 'cache-control': value, expires: value, age: value, date: value },
        1e12,
        1e12 + 5,
      );
      hold(
        fresh.lifetimeMs >= 0 && fresh.initialAgeMs >= 0 && fresh.staleIfErrorMs >= 0,
        'no time is negative',
      );
      hold(
        [fresh.lifetimeMs, fresh.initialAgeMs, fresh.staleIfErrorMs].every(Number.isFinite),
        'every time is finite',
      );
    },
    long: {
      'many quotes': () => '"'.repeat(MEGABYTE),
      'many tags': () => '"a",'.repeat(MEGABYTE / 4),
      'many directives': () => 'a=b,'.repeat(MEGABYTE / 4),
      blanks: () => `max-age=${' '.repeat(MEGABYTE)}1`,
    },
  }),
  fuzzTarget({
    name: 'content-disposition',
    takesAll: true,
    cases: mutatedText([
      'attachment; filename="f.iso"',
      "attachment; filename=f.iso; filename*=UTF-8''%c3%bcn.iso",
      'inline; filename="../../\\"x\\""; a=b',
      "a; filename*0=a; filename*1*=iso-8859-1'en'%ff",
    ]),
    check(value) {
      const name = nameFor('https://a.example/x/%2e%2e%2fb?c', { 'content-disposition': value });
      hold(
        name !== '' && !/[/\\\x00-\x1f]/.test(name) && !/^\.+$/.test(name),
        'a name stays in its folder',
      );
      hold(Buffer.byteLength(name) <= 200 && name.isWellFormed(), 'any file system takes it');
    },
    long: {
      'a long name': () => `attachment; filename="${'.'.repeat(MEGABYTE)}a"`,
      'many blanks': () => `attachment;${' '.repeat(MEGABYTE)}a`,
      'many parameters': () => `attachment${'; a=b'.repeat(MEGABYTE / 8)}`,
      'many backslashes': () => `attachment; filename="${'\\'.repeat(MEGABYTE)}`,
    },
  }),
];
