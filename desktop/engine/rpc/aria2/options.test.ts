import { describe, expect, test } from '@jest/globals';
import { defaultOptions, readOptions, sizeOf, withoutEffect } from './option-table.ts';
import { toNewDownload } from './options.ts';

/** Options of `aria2.getOption` of aria2 1.36, but those that depend on the download. */
const SHOWN_BY_ARIA2 = `allow-overwrite allow-piece-length-change always-resume async-dns
  auto-file-renaming bt-enable-hook-after-hash-check bt-enable-lpd bt-force-encryption
  bt-hash-check-seed bt-load-saved-metadata bt-max-peers bt-metadata-only bt-min-crypto-level
  bt-remove-unselected-file bt-request-peer-speed-limit bt-require-crypto bt-save-metadata
  bt-seed-unverified bt-stop-timeout bt-tracker-connect-timeout bt-tracker-interval
  bt-tracker-timeout check-integrity conditional-get connect-timeout
  content-disposition-default-utf8 continue dry-run enable-http-keep-alive enable-http-pipelining
  enable-mmap enable-peer-exchange file-allocation follow-metalink follow-torrent force-save
  ftp-pasv ftp-reuse-connection ftp-type hash-check-only http-accept-gzip http-auth-challenge
  http-no-cache lowest-speed-limit max-download-limit max-file-not-found max-mmap-limit
  max-resume-failure-tries max-tries max-upload-limit metalink-enable-unique-protocol
  metalink-preferred-protocol min-split-size no-file-allocation-limit no-netrc parameterized-uri
  pause-metadata piece-length proxy-method realtime-chunk-checksum remote-time
  remove-control-file retry-wait reuse-uri rpc-save-upload-metadata save-not-found seed-ratio
  stream-piece-selector timeout uri-selector use-head`.split(/\s+/);

describe('options of aria2', () => {
  test.each([
    ['0', 0],
    ['100', 100],
    ['100K', 102_400],
    ['5m', 5 * 1024 * 1024],
  ])('%s is %d bytes', (text, bytes) => expect(sizeOf(text)).toBe(bytes));

  test.each([
    ['split', 'many'],
    ['max-download-limit', '1G'],
    ['pause', 'yes'],
    ['checksum', 'sha-256'],
    ['gid', 'short'],
    ['header', 'x'.repeat(20_000)],
    ['load-cookies', '/tmp/cookies.txt'],
    ['dry-run', 'true'],
    ['conditional-get', 'true'],
    ['follow-metalink', 'yes'],
  ])("--%s=%s is refused in aria2's words", (name, value) => {
    const message = `We encountered a problem while processing the option '--${name}'.`;
    expect(() => readOptions({ [name]: value }, false)).toThrow(message);
  });

  test('that are unknown are left out, as in aria2', () => {
    expect(readOptions({ 'seed-ratio': '1.0', split: 3 }, false)).toEqual({ split: '3' });
    const inherited = JSON.parse('{"constructor":"1","toString":"1","__proto__":"1","split":"3"}');
    for (const global of [false, true]) {
      expect(readOptions(inherited, global)).toEqual({ split: '3' });
    }
    expect(readOptions(undefined, false)).toEqual({});
    expect(() => readOptions('x', false)).toThrow(/wrong type/);
  });

  test('that are not supported have no effect, and those about something else are named', () => {
    const given = {
      'remote-time': 'true',
      'bt-max-peers': '20',
      continue: 'true',
      'retry-wait': 9,
    };
    expect(readOptions({ ...given, 'dry-run': 'false' }, false)).toEqual({});
    expect(withoutEffect(given)).toEqual(['remote-time', 'retry-wait']);
    expect(withoutEffect(undefined)).toEqual([]);
  });

  test('have the defaults of aria2 1.36, all that it shows included', () => {
    const shown = defaultOptions();
    expect(Object.keys(shown)).toEqual(expect.arrayContaining(SHOWN_BY_ARIA2));
    expect(shown).toMatchObject({ 'dry-run': 'false', 'follow-metalink': 'true' });
  });

  test('of the daemon are not accepted for a download', () => {
    const option = { 'max-concurrent-downloads': '3' };
    expect(readOptions(option, true)).toEqual(option);
    expect(readOptions(option, false)).toEqual({});
  });

  test.each([
    [{ 'follow-torrent': 'false' }, { torrent: false, metalink: true }],
    [{ 'follow-metalink': 'mem' }, { torrent: true, metalink: 'mem' }],
    [{ 'follow-torrent': 'true' }, undefined],
  ])('%j follow each kind of description by itself', (given, follow) => {
    expect(toNewDownload(defaultOptions(), given).follow).toEqual(follow);
  });

  test('have the same meaning as in aria2', () => {
    const given = readOptions(
      {
        dir: '/d',
        out: '/x.bin',
        header: ['A: 1', 'B: two: 3'],
        referer: 'http://r.example/',
        'user-agent': 'ua',
        'http-user': 'me',
        'http-passwd': 'pw',
        'all-proxy': 'proxy.example:3128',
        'all-proxy-user': 'u',
        checksum: 'sha-1=0123456789012345678901234567890123456789',
        split: '100',
        'max-connection-per-server': '4',
        'max-download-limit': '2K',
        'allow-overwrite': 'true',
        'auto-file-renaming': 'false',
        'max-tries': '0',
        timeout: '7',
        pause: 'true',
        gid: 'ABCDEF0123456789',
      },
      false,
    );
    expect(toNewDownload(defaultOptions(), given)).toEqual({
      dir: '/d',
      file: 'x.bin',
      headers: {
        a: '1',
        b: 'two: 3',
        referer: 'http://r.example/',
        'user-agent': 'ua',
      },
      login: { user: 'me', password: 'pw' },
      proxy: 'http://u@proxy.example:3128/',
      digests: [{ algorithm: 'sha1', hex: '0123456789012345678901234567890123456789' }],
      connections: 32,
      connectionsPerHost: 4,
      limit: 2048,
      overwrite: true,
      rename: false,
      maxTries: 0,
      timeoutMs: 7000,
      paused: true,
      gid: 'abcdef0123456789',
      aria2: given,
    });
  });

  test('of one download override the global ones', () => {
    const all = { 'user-agent': 'global', split: '2' };
    expect(toNewDownload(all, { split: '3' })).toMatchObject({
      connections: 3,
      headers: { 'user-agent': 'global' },
    });
  });
});
