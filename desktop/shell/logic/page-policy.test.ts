import { expect, test } from '@jest/globals';
import { EXTENSION_PAGE, INSTALL_PAGE } from '@millrace/shared/base/web-pages';
import { isMiniPage, isOwnPage, mayCall, mayLoad, mayOpenOutside, maySave } from './page-policy.ts';

const DAEMON = 'http://127.0.0.1:6800';
const OWN = 'file:///opt/millrace/pages/';

test.each([
  [`${DAEMON}/`, true],
  [`${DAEMON}/#code=abc`, true],
  [`${OWN}starting.html`, true],
  ['http://127.0.0.1:6801/', false],
  ['http://localhost:6800/', false],
  ['https://127.0.0.1:6800/', false],
  [`${DAEMON}@evil.example/`, false],
  ['http://127.0.0.1:6800.evil.example/', false],
  ['https://example.com/', false],
  ['file:///etc/passwd', false],
  [`${OWN}../../../etc/passwd`, false],
  ['javascript:alert(1)', false],
  ['data:text/html,x', false],
  ['about:blank', false],
  ['', false],
])('the window may show %s: %s', (address, allowed) => {
  expect(isOwnPage(address, DAEMON, OWN)).toBe(allowed);
  if (!address.startsWith('file:')) expect(mayCall(address, DAEMON)).toBe(allowed);
});

test("the shell's own files may not call, and no page may while no daemon runs", () => {
  expect(mayCall(`${OWN}starting.html`, DAEMON)).toBe(false);
  expect(mayCall(`${DAEMON}/`, undefined)).toBe(false);
  expect(mayCall('null', undefined)).toBe(false);
  expect(isOwnPage(`${DAEMON}/`, undefined, OWN)).toBe(false);
});

test('the mini page has a window of its own, and no other page has', () => {
  const open = (address: string, daemon: string | undefined = DAEMON) =>
    isMiniPage(address, daemon);
  expect(open(`${DAEMON}/mini`)).toBe(true);
  for (const other of ['/', '/mini/x', '/mini.html', '@evil.example/mini']) {
    expect([other, open(DAEMON + other)]).toEqual([other, false]);
  }
  expect(open('file:///mini')).toBe(false);
  expect(isMiniPage(`${DAEMON}/mini`, undefined)).toBe(false);
});

test.each([
  [`${DAEMON}/assets/main.js`, true],
  ['ws://127.0.0.1:6800/jsonrpc', true],
  ['data:image/png;base64,AA', true],
  ['ws://127.0.0.1:6801/jsonrpc', false],
  ['wss://127.0.0.1:6800/jsonrpc', false],
  ['https://example.com/track.js', false],
  ['ftp://127.0.0.1:6800/', false],
])('a page may load %s: %s', (address, allowed) => {
  expect(mayLoad(address, DAEMON, OWN)).toBe(allowed);
});

test.each([
  [`blob:${DAEMON}/0b9f`, true],
  ['blob:http://127.0.0.1:6801/0b9f', false],
  ['blob:null/0b9f', false],
  [`${DAEMON}/big.iso`, false],
  ['https://example.com/big.iso', false],
  ['data:text/plain,x', false],
])('a page may save %s: %s', (address, allowed) => {
  expect(maySave(address, DAEMON)).toBe(allowed);
  expect(maySave(address, undefined)).toBe(false);
});

test.each([
  [EXTENSION_PAGE, true],
  [INSTALL_PAGE, true],
  [`${EXTENSION_PAGE}x`, false],
  ['https://example.com/', false],
  ['file:///etc/passwd', false],
  ['', false],
])('%s opens in the browser: %s', (url, opens) => {
  expect(mayOpenOutside(url)).toBe(opens);
});

test('the page of a daemon elsewhere loads what is its own, and over TLS only', () => {
  const elsewhere = 'https://nas.example';
  const may = (address: string) => mayLoad(address, elsewhere, OWN);
  expect(['/', '/assets/main.js', '/jsonrpc'].map((path) => may(elsewhere + path))).toEqual([
    true,
    true,
    true,
  ]);
  expect(may('wss://nas.example/jsonrpc')).toBe(true);
  for (const address of [
    'ws://nas.example/jsonrpc',
    'wss://nas.example:8443/jsonrpc',
    'http://nas.example/',
    `${DAEMON}/`,
  ])
    expect([address, may(address)]).toEqual([address, false]);
});
