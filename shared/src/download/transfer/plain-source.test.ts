import { expect, test } from '@jest/globals';
import { mayAskPlainly, type NamedBy } from './plain-source.ts';

const HTTPS = 'https://a.example/f.iso';
const HTTP = 'http://a.example/f.iso';

const ask = (download: string, namedBy: NamedBy, start: string, target: string, known = false) =>
  mayAskPlainly(new URL(target), {
    download: new URL(download),
    namedBy,
    start: new URL(start),
    digestKnown: known,
  });

test.each<[boolean, string, string, NamedBy, string, string]>([
  [false, 'an http mirror of an https file', HTTPS, 'other', HTTP, HTTP],
  [false, 'an https mirror that redirects to http', HTTPS, 'other', HTTPS, HTTP],
  [false, 'an https edge that redirects to http', HTTPS, 'own-edge', 'https://e.example/', HTTP],
  [true, 'an https mirror', HTTPS, 'other', HTTPS, HTTPS],
  [true, 'an http mirror of an http file', HTTP, 'other', HTTP, HTTP],
  [true, "the user's own edge without TLS", HTTPS, 'own-edge', 'http://127.0.0.1/', HTTP],
  [true, 'a redirect of the origin itself', HTTPS, 'origin', HTTPS, HTTP],
])('%s for %s', (may, _, download, namedBy, start, target) => {
  expect(ask(download, namedBy, start, target)).toBe(may);
  expect(ask(download, namedBy, start, target, true)).toBe(true);
});
