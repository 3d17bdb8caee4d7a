import { afterEach, expect, test } from '@jest/globals';
import { PacThread } from './pac-thread.ts';

const threads: PacThread[] = [];
afterEach(() => {
  for (const thread of threads.splice(0)) thread.close();
});

function pac(body: string, answerMs?: number): PacThread {
  const thread = new PacThread(body, answerMs);
  threads.push(thread);
  return thread;
}

test('a script decides by host, URL and the functions of PAC', async () => {
  const thread = pac(`
    function FindProxyForURL(url, host) {
      if (isPlainHostName(host)) return 'DIRECT';
      if (dnsDomainIs(host, '.corp.test')) return 'PROXY corp:1';
      if (shExpMatch(url, '*.iso')) return 'PROXY iso:1';
      if (isInNet(host, '10.0.0.0', '255.0.0.0')) return 'PROXY net:1';
      if (dnsResolve('127.0.0.1') !== '127.0.0.1') return 'PROXY wrong:1';
      return 'SOCKS5 ' + myIpAddress() + ':1; DIRECT';
    }`);
  expect(await thread.find('http://printer/')).toBe('DIRECT');
  expect(await thread.find('https://a.corp.test/')).toBe('PROXY corp:1');
  expect(await thread.find('http://x.test/a.iso')).toBe('PROXY iso:1');
  expect(await thread.find('http://10.1.2.3/')).toBe('PROXY net:1');
  expect(await thread.find('http://11.1.2.3/')).toMatch(/^SOCKS5 \d+\.\d+\.\d+\.\d+:1; DIRECT$/);
});

test('a script reaches nothing of Node, and cannot leave its interpreter', async () => {
  const thread = pac(`
    function FindProxyForURL() {
      var found = ['process', 'require', 'fetch', 'Buffer', 'Worker', 'WebAssembly', 'setTimeout', 'console']
        .filter(function (name) { return typeof globalThis[name] !== 'undefined'; });
      try { found.push(String(isPlainHostName.constructor('return typeof process')())); } catch (e) {}
      try { found.push(String(Function('return typeof require')())); } catch (e) {}
      (function () { found.push(dnsResolve('localhost') ?? 'no address'); })();
      return found.join();
    }`);
  expect(await thread.find('http://x.test/')).toBe('undefined,undefined,127.0.0.1');
});

test.each([
  ['has a mistake', 'function FindProxyForURL( {'],
  ['has no function', 'var x = 1;'],
  ['throws', 'function FindProxyForURL() { throw new Error("own words"); }'],
  [
    'takes all memory',
    'function FindProxyForURL() { var a = []; for (;;) a.push("x".repeat(1e6) + a.length); }',
  ],
  ['calls itself for ever', 'function FindProxyForURL(u, h) { return FindProxyForURL(u, h) + 1; }'],
])('a script that %s is an error', async (_what, script) => {
  await expect(pac(script).find('http://x.test/')).rejects.toThrow(/\w/);
});

test.each([
  ['while it is read', 'for (;;) {}'],
  ['when it is asked', 'function FindProxyForURL() { for (;;) {} }'],
  [
    'in a pattern',
    `function FindProxyForURL() { return /^(a+)+$/.test('a'.repeat(40) + 'b') ? '1' : '2'; }`,
  ],
])('a script that is endless %s is ended', async (_when, script) => {
  await expect(pac(script, 300).find('http://x.test/')).rejects.toThrow(/does not answer in time/);
});
