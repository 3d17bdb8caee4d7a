import { describe, expect, test } from '@jest/globals';
import { defaultOptions, readOptions, sizeOf, toNewDownload } from './options.ts';

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

  test('of the daemon are not accepted for a download', () => {
    const option = { 'max-concurrent-downloads': '3' };
    expect(readOptions(option, true)).toEqual(option);
    expect(readOptions(option, false)).toEqual({});
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
