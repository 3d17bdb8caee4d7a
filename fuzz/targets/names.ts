/** Operators' files for an edge, names of chunks, and signed links. */

import { createHmac } from 'node:crypto';
import { parseSeed } from '../../edge/src/config/seeds.ts';
import { OriginRules } from '../../edge/src/policy/origin-rules.ts';
import { checkLink, signLink } from '../../shared/node/link-signature.ts';
import { formatChunkName, parseChunkName } from '../../shared/src/cdn/chunks/chunk-name.ts';
import { versionOfTag, versionTag } from '../../shared/src/cdn/chunks/version-tag.ts';
import { parsePrefix, parseVersion, prefixesOf } from '../../shared/src/cdn/upkeep/purge-target.ts';
import { parseOriginUrl } from '../../shared/src/http/urls/prefixed-url.ts';
import { parseSignedTarget } from '../../shared/src/http/urls/signed-link.ts';
import { mutatedJsonText, mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse } from '../target.ts';

const MEGABYTE = 2 ** 20;
const NOW = 1_700_000_000_000;
const HEX64 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

const RULES = {
  defaults: { maxFileSize: '1GB' },
  origins: [
    { origin: 'https://*.example.com/files/', allow: true, contentTypes: ['video/*'], rate: '1M' },
    { origin: 'a.example', allow: 'signed', quota: { bytes: '1G', per: '1d' } },
    { origin: 'b.example:8080', allow: false },
  ],
};

const LINK_SECRET = 'a secret of many characters';
const SIGNED_URL = parseOriginUrl('https://a.example/pub/f.iso');
const BELOW = parseOriginUrl('https://a.example/pub/');
const SIGNED = [
  `/-/signed/${signLink(SIGNED_URL, 2_000_000_000, false, LINK_SECRET)}/${SIGNED_URL.href}`,
  `/-/signed/${signLink(BELOW, 2_000_000_000, true, LINK_SECRET)}/${SIGNED_URL.href}`,
  `/-/signed/${signLink(SIGNED_URL, 1, false, LINK_SECRET)}/${SIGNED_URL.href}`,
];

export const targets = [
  fuzzTarget({
    name: 'chunk-name',
    cases: mutatedText([
      'http://a.example/f,start=0,end=65535,v=e.abc%22',
      'http://a/f,start=0,end=1,start=65536ab,end=131071',
      `http://a/f,start=0,end=9,v=d.${HEX64}.m.5.10`,
      'http://a/f,start=0,end=9,v=m.5.10',
    ]),
    check(text) {
      const name = parseChunkName(text);
      if (name === undefined) return 'refused';
      const { range, tag } = name;
      hold(
        range.start >= 0 && range.start < range.end && Number.isSafeInteger(range.end),
        'a range is valid',
      );
      holdEqual(parseChunkName(formatChunkName(name)), name, 'it round-trips');
      if (tag === undefined) return;
      const version = versionOfTag(tag, 10);
      const digest = /^d\.([0-9a-f]{64})\./.exec(tag)?.[1];
      if (version !== undefined)
        hold(versionTag(version, 10, digest) === tag, 'a version has one tag');
    },
    long: {
      'many beginnings': () => ',start=1'.repeat(MEGABYTE / 8),
      'many digits': () => `a,start=${'1'.repeat(MEGABYTE)}`,
    },
  }),
  fuzzTarget({
    name: 'origin-rules',
    cases: mutatedJsonText([RULES]),
    check(text) {
      const rules = readOrRefuse(['bad-option'], () => new OriginRules(text));
      if (rules === undefined) return 'refused';
      for (const url of [
        'https://x.example.com/files/a',
        'http://a.example/',
        'http://b.example:8080/%2e%2e/',
      ]) {
        hold(
          ['serve', 'signed', 'refuse', 'none'].includes(rules.check(new URL(url)).says),
          'every URL has a verdict',
        );
      }
    },
    long: {
      'many rules': () =>
        JSON.stringify({
          origins: Array.from({ length: 20_000 }, (_, i) => ({
            origin: `h${i}.example`,
            allow: true,
          })),
        }),
      'a long pattern': () =>
        JSON.stringify({ origins: [{ origin: `${'*.'.repeat(MEGABYTE / 2)}a`, allow: true }] }),
    },
  }),
  fuzzTarget({
    name: 'operator-words',
    cases: mutatedText([
      'example.com/folder/*',
      'https://example.com/',
      '10.0.0.1:3125',
      'http://[::1]:1',
      '"etag"',
      'e.abc',
    ]),
    check(text) {
      const target = readOrRefuse(['bad-url', 'url-too-long', 'credentials-in-url'], () =>
        parsePrefix(text, 'https'),
      );
      if (target?.kind === 'prefix')
        hold(
          prefixesOf(target.prefix).at(-1) === target.prefix,
          'a prefix is one that lookups try',
        );
      const seed = readOrRefuse(['bad-option'], () => parseSeed(text));
      if (seed !== undefined)
        hold(
          /^https?$/.test(seed.scheme) && seed.port > 0 && seed.port < 65_536 && seed.host !== '',
          'a seed is an address',
        );
      const tag = readOrRefuse(['bad-option'], () => parseVersion(text));
      if (tag !== undefined) hold(/^[emd]\./.test(tag), 'a version is a tag');
      if (target === undefined && seed === undefined && tag === undefined) return 'refused';
    },
    long: {
      'many slashes': () => '/'.repeat(MEGABYTE),
      'many dots': () => `a${'.'.repeat(MEGABYTE)}b/`,
    },
  }),
  fuzzTarget({
    name: 'signed-link',
    // The third link has expired.
    sound: (target) => target !== SIGNED[2],
    cases: mutatedText(SIGNED),
    check(target) {
      const grant = readOrRefuse(
        [
          'link-invalid',
          'link-expired',
          'no-such-page',
          'bad-url',
          'url-too-long',
          'credentials-in-url',
        ],
        () => {
          if (!target.startsWith('/-/signed/')) return undefined;
          const { permit, url } = parseSignedTarget(target, { defaultScheme: 'https' });
          return { url, grant: checkLink(permit, url, [LINK_SECRET], NOW) };
        },
      );
      if (grant === undefined) return 'refused';
      const { url } = grant;
      // Derives the signed text without the code under test.
      const [, expires, signature, chars] =
        /^\/-\/signed\/(\d+)\.([^./]+)(?:\.(\d+))?\//.exec(target) ?? [];
      const text =
        chars === undefined
          ? `millrace-link-1 url\n${Number(expires)}\n${url.href}`
          : `millrace-link-1 prefix\n${Number(expires)}\n${url.href.slice(0, Number(chars))}`;
      hold(
        createHmac('sha256', LINK_SECRET)
          .update(text)
          .digest()
          .equals(Buffer.from(signature ?? '', 'base64url')),
        'a link is valid only with its signature',
      );
      hold(Number(expires) * 1000 > NOW, 'a link ends');
      hold(
        chars === undefined ? url.href === SIGNED_URL.href : url.href.startsWith(BELOW.href),
        'a link opens nothing else',
      );
    },
    long: { 'a long permit': () => `/-/signed/${'1'.repeat(MEGABYTE)}/http://a/` },
  }),
];
