/** Targets of requests to an edge: a file has one name, and rules see every reading of a path. */

import fc from 'fast-check';
import { MAX_URL_CHARS } from '../../shared/src/base/limits.ts';
import { pathReadings } from '../../shared/src/http/urls/path-readings.ts';
import {
  formatPrefixedUrl,
  parseOriginUrl,
  parsePrefixedTarget,
  requestTarget,
} from '../../shared/src/http/urls/prefixed-url.ts';
import { mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse } from '../target.ts';

const TARGETS = [
  '/http://example.org/a/b.iso?q=1&r=%20%23x',
  '/https:/example.org:8443/%2e%2e/caf\xc3\xa9',
  '/example.org/file',
  '/HTTP%3A%2F%2Fexample.org//x;y=z',
  '/[::1]:80/x',
  '/http://user:secret@h.example/',
  '/localhost/a\\b?',
  '/http://xn--bcher-kva.example./a/../b',
  '/http://0x7f.1/x',
  '/http%3A//%5B::1%5D%3A8080/a%2Fb',
  '/https%3A%2F%2Fexample.org%3A8443%2Fa%252Fb%3Fq',
];
const PATHS = ['/a/b;c/../d', '/%2e%2e/%252e/x', '/a//b\\c', '/%c0%af%c0%ae/..;/x', '/a.b/', '/'];
const CODES = ['no-such-page', 'bad-url', 'url-too-long', 'credentials-in-url'] as const;
const OPTIONS = { defaultScheme: 'https' } as const;
/** Most readings of one path: six for each of four rounds, and the path itself. */
const MOST_READINGS = 25;

export const targets = [
  fuzzTarget({
    name: 'prefixed-url',
    found: ['/http://example.org/a/b.iso?q=1#x'],
    sound: (target) => !target.includes('@'),
    cases: mutatedText(TARGETS),
    check(target) {
      const url = readOrRefuse(CODES, () => parsePrefixedTarget(target, OPTIONS));
      if (url === undefined) return 'refused';
      const { href } = url;
      hold(/^https?:$/.test(url.protocol), 'the scheme is http or https');
      hold(href.length <= MAX_URL_CHARS, 'it is no longer than allowed');
      hold(url.username === '' && url.password === '' && url.hash === '', 'nothing else is in it');
      hold(/^[\x21-\x7e]+$/.test(href), 'it is of visible ASCII');
      holdEqual(parseOriginUrl(href).href, href, 'it is its own canonical form');
      const again = formatPrefixedUrl('http://edge/', href).slice('http://edge'.length);
      holdEqual(parsePrefixedTarget(again, OPTIONS).href, href, 'it round-trips through an edge');
      const encoded = `/${encodeURIComponent(href)}`;
      if (encoded.length <= MAX_URL_CHARS) {
        holdEqual(
          parsePrefixedTarget(encoded, OPTIONS).href,
          href,
          'it is decoded once, not twice',
        );
      }
      const asked = requestTarget(url);
      holdEqual(url.origin + asked, href, 'an origin is asked for the same');
      hold(asked.startsWith('/') && href.endsWith(asked), 'the target is the end of the URL');
    },
    long: {
      slashes: () => `/http:${'/'.repeat(1_000_000)}`,
      dots: () => `/${'a.'.repeat(500_000)}`,
      colons: () => `/${':'.repeat(1_000_000)}/`,
      'encoded slashes': () => `/http%3A%2F%2F${'%2F'.repeat(300_000)}`,
      'encoded text': () => `/http%3A%2F%2Fa%2F${'%41'.repeat(300_000)}`,
      'encoded colons': () => `/${'%3A1'.repeat(300_000)}/`,
      'digits behind colons': () => `/${'a:1'.repeat(300_000)}/`,
    },
  }),
  fuzzTarget<fc.Arbitrary<[string, number]>>({
    name: 'path-readings',
    takesAll: true,
    cases: fc.tuple(
      mutatedText(PATHS).map((text) => `/${text}`),
      fc.nat(100),
    ),
    // With the name before `..;` encoded, the only reading took `..;` for a dot segment.
    found: [['/ae/..;/x', 0]],
    check([text, at]) {
      let path: string;
      try {
        path = new URL(`http://host${text}`).pathname;
      } catch {
        return;
      }
      const readings = pathReadings(path);
      if (readings === undefined) return 'refused';
      hold(readings.includes(path), 'the path itself is among them');
      hold(readings.length <= MOST_READINGS, 'there are few');
      for (const reading of readings) {
        hold(reading.startsWith('/'), 'each begins with a slash');
        hold(reading.length <= path.length, 'none is longer than the path');
      }
      if (path.includes('%') || /[^\x21-\x7e]/.test(path)) return;
      // Encoding a path once more must keep all of its readings.
      const index = 1 + (at % path.length);
      if (index >= path.length) return;
      const encoded = `%${path.charCodeAt(index).toString(16)}`;
      const more = pathReadings(path.slice(0, index) + encoded + path.slice(index + 1));
      if (more === undefined) return;
      for (const reading of readings) hold(more.includes(reading), `${reading} is read as well`);
    },
    long: {
      'dot segments': () => [`/${'../'.repeat(300_000)}`, 1],
      semicolons: () => [`/${';'.repeat(1_000_000)}`, 1],
      percents: () => [`/${'%'.repeat(1_000_000)}`, 1],
      backslashes: () => [`/${'\\'.repeat(1_000_000)}`, 1],
    },
  }),
];
