import { describe, expect, test } from '@jest/globals';
import { Command, CommanderError } from 'commander';
import { UsageError } from '../text/option-values.ts';
import { requestOf } from './asked-request.ts';
import { addRequestOptions, type RequestOptions } from './request-options.ts';

const URL = 'https://example.com/file.iso';

function read(...args: string[]) {
  const command = addRequestOptions(new Command('x'), 'here')
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  command.parse(args, { from: 'user' });
  return requestOf(URL, command.opts<RequestOptions>(), '/home/user');
}

describe('options of a download', () => {
  test('omitted options are left to the engine', () => {
    expect(read()).toEqual({ urls: [URL] });
  });

  test("the paper's algorithms have the paper's values, or others", () => {
    const mib = 1024 * 1024;
    expect(read('--redundancy', 'aggressive').loci).toEqual({
      copies: 3,
      progress: 0,
      blockBytes: 2 * mib,
    });
    const chosen = ['--copies', '2', '--late-after', '9', '--block-size', '1MiB'];
    expect(read('--redundancy', 'progress', ...chosen, '--look-ahead', '8MiB').loci).toEqual({
      ...{ copies: 2, progress: 9, blockBytes: mib, lookAheadBytes: 8 * mib },
    });
  });

  test.each([
    [['--copies', '2'], '--copies needs --redundancy'],
    [['--look-ahead', '1MiB'], '--look-ahead needs --redundancy'],
    [['--redundancy', 'basic', '--copies', '2'], '--redundancy basic fetches every block once'],
    [['--redundancy', 'aggressive', '--late-after', '2'], '--late-after needs'],
    [['--redundancy', 'basic', '--block-size', '1K'], 'a size from 64KiB to 1GiB is needed'],
  ])('%j is refused', (args, why) => {
    expect(() => read(...args)).toThrow(why);
  });

  test('every option is read', () => {
    const sha = 'ab'.repeat(32);
    expect(
      read(
        ...['-d', 'isos', '--mirror', 'http://m.example/x', '--mirror', 'm2.example/y'],
        ...['--edge', '127.0.0.1:3125', '--edges-only', '--connections', '4'],
        ...[
          '--connections-per-host',
          '2',
          '--redundancy',
          'basic',
          '--find-checksum',
          '--netrc',
          '--cookies',
          'jar.txt',
          '--overwrite',
        ],
        ...['--checksum', `SHA256=${sha.toUpperCase()}`, '--limit', '2MiB/s'],
        ...['--proxy', 'socks5://localhost:1080', '--timeout', '5', '--retry-for', '1h'],
      ),
    ).toEqual({
      urls: [URL, 'http://m.example/x', 'https://m2.example/y'],
      dir: '/home/user/isos',
      edges: ['http://127.0.0.1:3125/'],
      direct: false,
      connections: 4,
      connectionsPerHost: 2,
      loci: { copies: 1, progress: 0, blockBytes: 2 * 1024 * 1024 },
      sidecars: true,
      netrc: true,
      cookieFile: '/home/user/jar.txt',
      overwrite: true,
      digests: [{ algorithm: 'sha256', hex: sha }],
      limit: 2 * 1024 * 1024,
      proxy: 'socks5://localhost:1080',
      timeoutMs: 5000,
      retryForMs: 3_600_000,
    });
  });

  test.each([
    [['-o', 'mine.iso'], { file: 'mine.iso' }],
    [['-o', 'sub/mine.iso'], { dir: '/home/user/sub', file: 'mine.iso' }],
    [['-o', '/srv/mine.iso'], { dir: '/srv', file: 'mine.iso' }],
    [['-d', '/srv', '-o', 'sub/mine.iso'], { dir: '/srv', file: 'sub/mine.iso' }],
  ])('%j is saved at %j', (args, place) => {
    expect(read(...args)).toEqual({ urls: [URL], ...place });
  });

  test('cookies, referrer and user become header fields', () => {
    const { headers } = read(
      ...['--header', 'Cookie: a=1', '--cookie', 'b=2', '--cookie', 'c=3', '--header', 'X-Y:z'],
      ...['--referer', 'https://example.com/page#top', '--user', 'jürgen:pä:ß'],
      ...['--user-agent', 'me/1'],
    );
    expect(headers).toEqual({
      cookie: 'a=1; b=2; c=3',
      'x-y': 'z',
      referer: 'https://example.com/page',
      'user-agent': 'me/1',
      authorization: `Basic ${Buffer.from('jürgen:pä:ß').toString('base64')}`,
    });
  });

  test.each([
    [['--checksum', 'sha-256=12'], /64 hexadecimal digits/],
    [['--checksum', 'crc=12'], /the algorithm must be/],
    [['--connections', '33'], /1 to 32/],
    [['--connections', '1.5'], /whole number/],
    [['--limit', '0'], /more than 0/],
    [['--header', 'nonsense'], /Name: value/],
    [['--header', 'X: a\r\nEvil: b'], /Name: value/],
    [['--cookie', 'a=b; c'], /name=value/],
    [['--proxy', 'ftp://x'], /not a URL/],
    [['--user', 'nobody'], /name:password/],
    [['--user-agent', 'a\nb'], /ASCII/],
    [['--mirror', 'file:///etc/passwd'], /not a URL/],
    [['--redundancy', 'wild'], /basic/],
    [['--conections', '3'], /--connections/],
  ])('%j is refused', (args, message) => {
    let thrown: unknown;
    try {
      read(...args);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(CommanderError);
    expect((thrown as CommanderError).message).toMatch(message);
  });

  test('the environment variable holds a list of edges; an empty list means none', () => {
    const before = process.env.MILLRACE_EDGE;
    try {
      process.env.MILLRACE_EDGE = '127.0.0.1:1, https://edge.example';
      expect(read().edges).toEqual(['http://127.0.0.1:1/', 'https://edge.example/']);
      expect(read('--edge', 'other:2').edges).toEqual(['http://other:2/']);
      process.env.MILLRACE_EDGE = '';
      expect(read().edges).toEqual([]);
    } finally {
      if (before === undefined) delete process.env.MILLRACE_EDGE;
      else process.env.MILLRACE_EDGE = before;
    }
  });

  test.each([
    [['-o', 'folder/']],
    [['-o', '']],
    [['--user', 'a:b', '--header', 'Authorization: Bearer x']],
  ])('%j contradicts itself', (args) => {
    let thrown: unknown;
    try {
      read(...args);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UsageError);
  });
});
