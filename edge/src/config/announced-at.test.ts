import { describe, expect, test } from '@jest/globals';
import { announcementOf } from './announced-at.ts';
import { readConfig, Stop } from './config.ts';

const TLS = ['--tls-cert', '/tmp/cert.pem', '--tls-key', '/tmp/key.pem'];
const OPEN = ['--announce', 'yes', '--host', '0.0.0.0'];

function reasonOf(argv: readonly string[]): string {
  try {
    readConfig([...argv], {});
    return '';
  } catch (error) {
    if (error instanceof Stop) return error.message;
    throw error;
  }
}

describe('an edge that is to announce itself', () => {
  test.each([
    ['on loopback by default', ['--announce', 'yes'], /nothing to announce.*--host 0\.0\.0\.0/],
    ['at ::1', ['--announce', 'yes', '--host', '::1'], /nothing to announce/],
    ['at localhost', ['--announce', 'yes', '--host', 'localhost'], /nothing to announce/],
    ['at one IPv6 address', ['--announce', 'yes', '--host', 'fd00::1'], /IPv4 address/],
    ['for one user', [...OPEN, '--local-token-file', '/tmp/token'], /nothing to announce/],
    ['with TLS for no name', [...OPEN, ...TLS], /--public-url/],
    [
      'with TLS, and a port that only leads to it',
      [...OPEN, ...TLS, '--http-port', '3126', '--http-answers', 'redirect'],
      /--public-url/,
    ],
  ])('%s does not start', (_, argv, reason) => {
    expect(reasonOf(argv)).toMatch(reason);
  });

  test.each([
    ['at all addresses', OPEN, ['http://127.0.0.1:3125'], { port: 3125, tlsUrl: undefined }],
    [
      'with TLS and a public URL',
      [...OPEN, ...TLS, '--public-url', 'https://attic.example.net:3125'],
      ['https://127.0.0.1:3125'],
      { port: 3125, tlsUrl: expect.stringContaining('https://attic.example.net:3125') },
    ],
    [
      'with TLS and a port without it',
      [...OPEN, ...TLS, '--http-port', '80'],
      ['https://127.0.0.1:3125', 'http://127.0.0.1'],
      { port: 80, tlsUrl: undefined },
    ],
  ])('%s announces the port that neighbours can use', (_, argv, urls, announced) => {
    expect(announcementOf(readConfig([...argv], {}), urls)).toMatchObject(announced);
  });

  test('announces nothing unless it is told to', () => {
    const config = readConfig(['--host', '0.0.0.0'], {});
    expect(announcementOf(config, ['http://127.0.0.1:3125'])).toBeUndefined();
  });
});
