import { expect, test } from '@jest/globals';
import { readPacAnswer, toldUrl } from './pac-answer.ts';
import { formatProxy } from './proxy-settings.ts';

test.each([
  ['DIRECT', ['direct']],
  [
    'PROXY a.test:8080; SOCKS5 b.test:1080; DIRECT',
    ['http://a.test:8080', 'socks5://b.test:1080', 'direct'],
  ],
  ['proxy a.test', ['http://a.test:80']],
  [
    'HTTPS a.test:443;SOCKS [2001:db8::1]:1080',
    ['https://a.test:443', 'socks4a://[2001:db8::1]:1080'],
  ],
  ['PROXY a.test:99999; QUIC b.test:1; PROXY c.test:1', ['http://c.test:1']],
  ['', ['direct']],
  ['  ', ['direct']],
  [undefined, ['direct']],
  [17, ['direct']],
])('%j leads %j', (answer, ways) => {
  const found = readPacAnswer(answer);
  expect(found.map((way) => (way === undefined ? 'direct' : formatProxy(way)))).toEqual(ways);
});

test.each(['PROXY', 'nonsense', 'QUIC b.test:1; PROXY a.test:99999'])(
  'an answer whose servers cannot be used is not taken for leave to go past them: %s',
  (answer) => {
    expect(() => readPacAnswer(answer)).toThrow('no proxy that can be used');
  },
);

test('an answer of any length names few servers', () => {
  expect(readPacAnswer('PROXY a.test:1;'.repeat(100_000)).length).toBeLessThanOrEqual(16);
});

test('a script learns no secret of a URL', () => {
  expect(toldUrl(new URL('https://tom:pw@x.test:444/secret?token=1#k'))).toBe(
    'https://x.test:444/',
  );
  expect(toldUrl(new URL('http://tom:pw@x.test/a/b.iso?v=1#k'))).toBe('http://x.test/a/b.iso?v=1');
});
