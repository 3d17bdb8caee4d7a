import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LocalAccess, TOKEN_FIELD } from './local-access.ts';

const TOKEN = 'x'.repeat(43);
const HOST = '127.0.0.1:3125';
let dir = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe('LocalAccess', () => {
  const access = new LocalAccess(TOKEN);

  test('a request with the token has the private scope, others have the public one', () => {
    expect(access.scope({ host: HOST, [TOKEN_FIELD]: TOKEN })).toBe('private');
    expect(access.scope({ host: HOST })).toBe('public');
  });

  test.each(['', 'x', TOKEN.slice(1), `${TOKEN}x`, TOKEN.toUpperCase(), 'ü'.repeat(43)])(
    'the token %j is wrong',
    (token) => {
      expect(access.scope({ host: HOST, [TOKEN_FIELD]: token })).toBe('public');
    },
  );

  test('a token that comes twice is wrong', () => {
    expect(access.scope({ host: HOST, [TOKEN_FIELD]: [TOKEN, TOKEN] })).toBe('public');
  });

  test.each([
    'localhost',
    'LOCALHOST:3125',
    '127.0.0.1',
    '127.0.0.1:3125',
    '127.1.2.3',
    '[::1]',
    '[::1]:3125',
  ])('%s is this machine', (host) => {
    expect(access.scope({ host })).toBe('public');
  });

  test.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.example:3125',
    '127.0.0.1.evil.example',
    'notlocalhost',
    '192.168.0.1',
    '[::2]',
    'localhost:3125:80',
    'localhost, evil.example',
  ])('a page that reaches it as %j gets nothing, with or without the token', (host) => {
    for (const headers of [{ host }, { host, [TOKEN_FIELD]: TOKEN }]) {
      expect(() => access.scope(headers)).toThrow(expect.objectContaining({ code: 'not-a-proxy' }));
    }
  });

  const other = expect.objectContaining({ code: 'other-site' });

  test.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    { 'sec-fetch-site': 'none, cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:8080' },
    { origin: 'http://localhost:3125' },
    { origin: `http://${HOST}, https://evil.example` },
    { origin: 'chrome-extension://abcdefghijklmnop' },
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
  ] as Record<string, string>[])(
    'a page of another site (%j) gets nothing without the token',
    (fields) => {
      const headers = { host: HOST, ...fields };
      expect(() => access.scope(headers)).toThrow(other);
      expect(access.scope({ ...headers, [TOKEN_FIELD]: TOKEN })).toBe('private');
    },
  );

  test.each([
    {},
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', origin: `http://${HOST}` },
    { origin: `https://${HOST}` },
  ] as Record<string, string>[])(
    'a program, the page of the edge itself and a typed address (%j) are let in',
    (fields) => {
      expect(access.scope({ host: HOST, ...fields })).toBe('public');
    },
  );

  test('a token is made if there is none, for the user alone', async () => {
    const path = join(dir, 'state', 'edge-token');
    const made = await LocalAccess.fromFile(path);
    const token = (await readFile(path, 'utf8')).trim();
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(made.scope({ host: HOST, [TOKEN_FIELD]: token })).toBe('private');
    if (process.platform !== 'win32') expect((await stat(path)).mode & 0o077).toBe(0);
  });

  test('an existing token is used, and not changed', async () => {
    const path = join(dir, 'edge-token');
    await writeFile(path, `${TOKEN}\n`);
    const read = await LocalAccess.fromFile(path);
    expect(read.scope({ host: HOST, [TOKEN_FIELD]: TOKEN })).toBe('private');
    expect(await readFile(path, 'utf8')).toBe(`${TOKEN}\n`);
  });

  test('a token that could be guessed is replaced', async () => {
    const path = join(dir, 'edge-token');
    await writeFile(path, 'secret\n');
    const made = await LocalAccess.fromFile(path);
    expect(made.scope({ host: HOST, [TOKEN_FIELD]: 'secret' })).toBe('public');
    expect((await readFile(path, 'utf8')).trim()).toHaveLength(43);
  });

  test('two edges have different tokens', async () => {
    const paths = ['a', 'b'].map((name) => join(dir, name));
    for (const path of paths) await LocalAccess.fromFile(path);
    const [a, b] = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
    expect(a).not.toBe(b);
  });

  test('a folder that cannot be used is an error', async () => {
    await writeFile(join(dir, 'file'), '');
    await expect(LocalAccess.fromFile(join(dir, 'file', 'token'))).rejects.toThrow();
  });
});
