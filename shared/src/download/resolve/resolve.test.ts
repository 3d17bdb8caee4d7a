import { describe, expect, test } from '@jest/globals';
import { isLinkPattern, isOfPatterns } from './link-pattern.ts';
import {
  answered,
  answeredAnew,
  answerProblem,
  isStale,
  onExpired,
  type ResolverAnswer,
  resolverEnvironment,
} from './resolved.ts';
import { chosenByYtDlp, type YtDlpInfo } from './yt-dlp.ts';

const answer = (urls: string[], more: Partial<ResolverAnswer> = {}): ResolverAnswer => ({
  urls,
  headers: {},
  digests: [],
  ...more,
});

describe('a pattern of links', () => {
  test.each([
    ['example.org', 'https://example.org/a', true],
    ['example.org', 'http://www.example.org:8080/a?b', true],
    ['example.org', 'https://example.org.evil.net/', false],
    ['example.org', 'https://notexample.org/', false],
    ['example.org', 'https://evil.net/example.org', false],
    ['example.org', 'https://example.org@evil.net/', false],
    ['Example.ORG', 'https://example.org/', true],
    ['https://example.org', 'http://example.org/', false],
    ['https://example.org', 'https://www.example.org/', false],
    ['*://*.example.org/*', 'http://example.org/x', true],
    ['*.example.org', 'https://a.b.example.org/x', true],
    ['https://example.org/watch/*', 'https://example.org/watch/1?x=2', true],
    ['https://example.org/watch/*', 'https://example.org/other', false],
    ['https://example.org/*/file?id=*', 'https://example.org/a/b/file?id=7', true],
    ['https://example.org/*ab*ab', 'https://example.org/ab', false],
    ['https://example.org/a', 'https://example.org/a', true],
    ['https://example.org/a', 'https://example.org/ab', false],
    ['http://127.0.0.1:81/*', 'http://127.0.0.1:81/a', true],
    ['http://127.0.0.1:81/*', 'http://127.0.0.1/a', false],
    ['https://example.org:443', 'https://example.org/', true],
    ['[::1]', 'http://[::1]/a', true],
    ['*', 'https://anything.net/', true],
    ['*', 'ftp://anything.net/', false],
    ['*', 'not a link', false],
  ])('%s of %s: %s', (pattern, link, is) => {
    expect(isLinkPattern(pattern)).toBe(true);
    expect(isOfPatterns(link, [pattern])).toBe(is);
  });

  test.each(['', 'a b', 'ftp://a', 'https://', '/path', 'a*.org', 'x'.repeat(600), '-a.org'])(
    '%j is no pattern, and matches nothing',
    (text) => {
      expect(isLinkPattern(text)).toBe(false);
      expect(isOfPatterns('https://a.org/', [text])).toBe(false);
    },
  );

  test('of many stars is compared in one pass', () => {
    const pattern = `https://a.org/${'*a'.repeat(200)}b`;
    expect(isOfPatterns(`https://a.org/${'a'.repeat(100_000)}`, [pattern])).toBe(false);
  });
});

describe('an answer', () => {
  test('of a page of the internet leads neither into the own network nor to a link without TLS', () => {
    const page = 'https://page.example/v';
    expect(answerProblem(page, answer(['https://cdn.example/f']))).toBeUndefined();
    for (const url of ['https://192.168.1.1/f', 'https://[::1]/f', 'https://nas.local/f']) {
      expect(answerProblem(page, answer(['https://cdn.example/f', url]))).toMatch(/own network/);
    }
    expect(answerProblem(page, answer(['http://cdn.example/f']))).toMatch(/without TLS/);
    const digests = [{ algorithm: 'sha256', hex: 'a'.repeat(64) }] as const;
    expect(answerProblem(page, answer(['http://cdn.example/f'], { digests }))).toBeUndefined();
    expect(answerProblem('http://10.0.0.1/p', answer(['http://10.0.0.2/f']))).toBeUndefined();
  });

  test('takes the place of the page, and other hosts get neither log-in nor fields of the user', () => {
    const headers = { Cookie: 'a=1', 'X-Key': 'secret', 'User-Agent': 'Me' };
    const login = { user: 'u', password: 'p' };
    const asked = { urls: ['https://page.example/v', 'https://mirror.example/f'], headers, login };
    const found = answer(['https://cdn.example/f'], {
      headers: { referer: 'https://page.example/' },
    });
    expect(answered(asked, found)).toMatchObject({
      urls: ['https://cdn.example/f', 'https://mirror.example/f'],
      listed: ['https://cdn.example/f'],
      headers: { referer: 'https://page.example/', 'user-agent': 'Me' },
      login: undefined,
    });
    const same = answered(
      asked,
      answer(['https://page.example/f'], { headers: { cookie: 'b=2' } }),
    );
    expect(same.headers).toEqual({ cookie: 'a=1', 'x-key': 'secret', 'user-agent': 'Me' });
    expect(same.login).toBe(login);
  });

  test('that comes later replaces the links and fields of the one before, and no others', () => {
    const before = {
      urls: ['https://old.example/f', 'https://old.example/g', 'https://mirror.example/f'],
      headers: { cookie: 'old=1', 'user-agent': 'Me' },
    };
    const resolved = {
      by: 'a',
      url: 'https://page.example/v',
      urls: ['https://old.example/f', 'https://old.example/g'],
    };
    const other = answer(['https://new.example/f'], { headers: { cookie: 'new=1' } });
    expect(answeredAnew(before, resolved, other)).toMatchObject({
      urls: ['https://new.example/f', 'https://mirror.example/f'],
      headers: { cookie: 'new=1', 'user-agent': 'Me' },
      listed: ['https://new.example/f'],
    });
    const quiet = answeredAnew(before, resolved, answer(['https://new.example/f']));
    expect(quiet.headers).toEqual({ 'user-agent': 'Me' });
  });
});

test('a resolver is asked again while that brings bytes, and anew when the user tries again', () => {
  let resolved = { by: 'a', url: 'https://a.example/', urls: [] as string[] };
  const agains: boolean[] = [];
  for (const storedBytes of [0, 0, 0, 0, 5, 5, 5, 9]) {
    const next = onExpired(resolved, storedBytes);
    agains.push(next.again);
    resolved = { ...next.resolved, urls: [] };
  }
  expect(agains).toEqual([true, true, false, true, true, true, false, true]);
  expect(isStale(resolved, 0)).toBe(true);
  const fresh = { by: 'a', url: 'https://a.example/', urls: [], expires: 100 };
  expect([99, 100].map((now) => isStale(fresh, now))).toEqual([false, true]);
});

test('a resolver gets no variable that may hold a secret', () => {
  const env = {
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C',
    https_proxy: 'http://proxy:3128',
    HTTP_PROXY: 'http://me:secret@proxy:3128',
    GITHUB_TOKEN: 'secret',
    MILLRACE_USER: 'me:secret',
    SSH_AUTH_SOCK: '/tmp/agent',
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/bus',
    LD_PRELOAD: '/tmp/x.so',
    NODE_OPTIONS: '--require=/tmp/x.js',
  };
  expect(Object.keys(resolverEnvironment(env))).toEqual(['PATH', 'HOME', 'LC_ALL', 'https_proxy']);
});

describe('of what yt-dlp says', () => {
  const mp4 = (more: object) => ({
    ...{ url: 'https://h/f', protocol: 'https', ext: 'mp4', vcodec: 'avc1', acodec: 'mp4a' },
    ...more,
  });
  const hls = mp4({ protocol: 'm3u8_native', url: 'https://h/f.m3u8', height: 2160 });
  const picture = mp4({ acodec: 'none', height: 1080 });

  test.each<[string, YtDlpInfo, object]>([
    [
      'the best format that is one file is taken, and a better one in parts is mentioned',
      {
        title: 'A film',
        formats: [
          mp4({ height: 240, url: 'https://h/240' }),
          mp4({ height: 360, url: 'https://h/360', filesize: 7, http_headers: { Referer: 'r' } }),
          picture,
          hls,
        ],
      },
      {
        ...{ url: 'https://h/360', name: 'A film.mp4', length: 7, headers: { referer: 'r' } },
        note: expect.stringMatching(/360p.*2160p/),
      },
    ],
    [
      'a page with one plain file is taken',
      { title: 'x', url: 'http://h/x.bin', ext: 'bin', protocol: 'http' },
      { url: 'http://h/x.bin', name: 'x.bin', note: undefined },
    ],
    [
      'sound alone is taken of a page of music',
      { title: 's', formats: [mp4({ vcodec: 'none', ext: 'm4a', url: 'https://h/s' })] },
      { url: 'https://h/s', name: 's.m4a' },
    ],
    ['fragments are refused', { formats: [hls] }, { refused: expect.stringMatching(/HLS, DASH/) }],
    [
      'fragments of a plain link are refused',
      { formats: [mp4({ fragments: [{ url: 'a' }], protocol: 'http_dash_segments' })] },
      { refused: expect.stringMatching(/HLS, DASH/) },
    ],
    [
      'picture and sound apart are refused',
      { formats: [mp4({ vcodec: 'none' }), picture] },
      { refused: expect.stringMatching(/merged/) },
    ],
    [
      'a protected file is refused',
      { formats: [mp4({ has_drm: true })] },
      { refused: expect.stringMatching(/DRM/) },
    ],
    [
      'a list is refused',
      { _type: 'playlist', entries: [{}, {}] },
      { refused: expect.stringMatching(/several/) },
    ],
    [
      'a live stream is refused',
      { is_live: true, formats: [mp4({})] },
      { refused: expect.stringMatching(/live/) },
    ],
    ['nothing is refused', { title: 'x' }, { refused: expect.stringMatching(/no format/) }],
  ])('%s', (_what, info, chosen) => {
    expect(chosenByYtDlp(info)).toMatchObject(chosen);
  });
});
