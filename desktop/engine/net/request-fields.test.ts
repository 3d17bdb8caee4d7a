import { describe, expect, test } from '@jest/globals';
import type { Chain } from '@millrace/shared/http/urls/credentials-scope';
import fc from 'fast-check';
import { takeLogin, withoutLogin } from './credentials.ts';
import { RequestFields, type RequestFieldsOptions } from './request-fields.ts';

const FIRST = 'https://www.files.test/a';
const make = (options: Partial<RequestFieldsOptions> = {}) =>
  new RequestFields({ urls: [FIRST], headers: {}, ...options });
const chain = (start: string, role: Chain['role'] = 'origin'): Chain => ({
  role,
  start: new URL(start),
});
const sent = (fields: RequestFields, url: string, start = FIRST, role: Chain['role'] = 'origin') =>
  fields.fieldsFor(new URL(url), chain(start, role));
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('takeLogin', () => {
  test('the remaining URL can be shown', () => {
    expect(takeLogin('https://us%40er:p%3Aw@Files.test/a?b#c')).toEqual({
      url: 'https://files.test/a?b',
      login: { user: 'us@er', password: 'p:w' },
    });
    expect(takeLogin('http://user@files.test')).toEqual({
      url: 'http://files.test/',
      login: { user: 'user', password: '' },
    });
    expect(takeLogin('http://files.test/@x').login).toBeUndefined();
  });

  test.each([
    'ftp://u:secret@x/',
    'http://u:secret@',
    'http://u:secret@x:99999/',
    'http://u:secret%zz@x/',
  ])('%# is refused without showing the password', (text) => {
    expect(() => takeLogin(text)).toThrow(expect.objectContaining({ code: 'bad-url' }));
    expect(() => takeLogin(text)).not.toThrow(/secret/);
  });
});

test.each([
  ['http://u:secret@files.test/a', 'http://files.test/a'],
  ['http://files.test/a@b', 'http://files.test/a@b'],
  ['u:secret@files.test/a', 'files.test/a'],
  ['http://u:sec/ret-secret@files.test', 'files.test'],
  ['ftp://u:secret@files.test/', 'files.test/'],
  ['files.test/a', 'files.test/a'],
])('%s is shown as %s', (typed, shown) => {
  expect(withoutLogin(typed)).toBe(shown);
});

describe('log-ins', () => {
  test('a field comes before an option, an option before the URL, and the URL before netrc', () => {
    const login = { user: 'option', password: 'ü' };
    const netrc = { user: 'netrc', password: 'n' };
    const urls = ['https://in:url@www.files.test/a'];
    const headers = { Authorization: 'Bearer token' };
    const of = (options: Partial<RequestFieldsOptions>) => sent(make(options), FIRST).authorization;
    expect(of({ urls, headers, login, netrc })).toBe('Bearer token');
    expect(of({ urls, login, netrc })).toBe(basic('option:ü'));
    expect(of({ urls, netrc })).toBe(basic('in:url'));
    expect(of({ netrc })).toBe(basic('netrc:n'));
    expect(of({})).toBeUndefined();
  });

  test('each URL has its own, which is sent with no other URL', () => {
    const fields = make({
      urls: ['https://a:1@www.files.test/a', 'https://b:2@mirror.test/a', 'https://third.test/a'],
    });
    expect(fields.urls.join(' ')).not.toContain('@');
    expect(sent(fields, FIRST).authorization).toBe(basic('a:1'));
    const mirror = 'https://mirror.test/a';
    expect(sent(fields, mirror, mirror).authorization).toBe(basic('b:2'));
    expect(sent(fields, mirror).authorization).toBeUndefined();
    expect(sent(fields, FIRST, mirror).authorization).toBeUndefined();
    expect(sent(fields, 'https://third.test/a', 'https://third.test/a')).not.toHaveProperty(
      'authorization',
    );
  });

  test.each([
    ['us:er', 'x'],
    ['user', 'x\r\n'],
    ['user', 'x'.repeat(5000)],
  ])('%j cannot be sent', (user, password) => {
    expect(() => make({ login: { user, password } })).toThrow(
      expect.objectContaining({ code: 'bad-option' }),
    );
  });
});

describe('fields', () => {
  const fields = make({
    urls: [FIRST, 'https://mirror.test/a'],
    headers: { 'X-Own': '1', Cookie: 'c=1', 'User-Agent': 'Other/1' },
    login: { user: 'u', password: 'p' },
    referrer: 'https://tom:secret@page.test/x?y#z',
  });

  test('the user’s own origin gets all of them', () => {
    expect(sent(fields, 'https://www.files.test/b')).toEqual({
      'x-own': '1',
      'user-agent': 'Other/1',
      authorization: basic('u:p'),
      cookie: 'c=1',
      referer: 'https://page.test/x?y',
    });
  });

  test('another origin gets user agent and referrer, a mirror only the user agent, an edge neither', () => {
    expect(sent(fields, 'https://cdn.test/')).toEqual({
      'user-agent': 'Other/1',
      referer: 'https://page.test/',
    });
    expect(sent(fields, 'https://mirror.test/', 'https://mirror.test/a')).toEqual({
      'user-agent': 'Other/1',
    });
    const edge = 'http://edge.test:3125/https://www.files.test/a';
    expect(sent(fields, edge, edge, 'edge')).toEqual({ 'user-agent': 'Millrace/0.1' });
    expect(sent(fields, FIRST, edge, 'edge')).toEqual({ 'user-agent': 'Millrace/0.1' });
  });

  test('only fields that edges do not get make a download personal', () => {
    expect(fields.personal).toBe(true);
    expect(make().personal).toBe(false);
    expect(make({ userAgent: 'Other/1' }).personal).toBe(false);
    expect(make({ urls: ['https://u@www.files.test/'] }).personal).toBe(true);
    expect(make({ headers: { cookie: 'a=1' } }).personal).toBe(true);
  });

  test('a user agent and a referrer cannot add another field', () => {
    expect(() => make({ userAgent: 'a\r\nX: y' })).toThrow(/user-agent/);
    expect(() => make({ referrer: 'about:blank' })).toThrow(/referrer/);
    expect(
      make({ referrer: 'https://page.test/\r\nX: y' }).fieldsFor(new URL(FIRST), chain(FIRST))
        .referer,
    ).toBe('https://page.test/X:%20y');
  });

  test('no redirect takes a secret to another host', () => {
    const host = fc.constantFrom('www.files.test', 'files.test', 'cdn.files.test', 'evil.test');
    const url = fc
      .tuple(fc.constantFrom('http', 'https'), host, fc.constantFrom('', ':8443'))
      .map(([scheme, name, port]) => `${scheme}://${name}${port}/x`);
    fc.assert(
      fc.property(
        url,
        url,
        fc.constantFrom('origin' as const, 'edge' as const),
        (at, start, role) => {
          const all = sent(fields, at, start, role);
          const target = new URL(at);
          const home = target.origin === new URL(FIRST).origin;
          if (!home) expect(all).not.toHaveProperty('authorization');
          if (!home) expect(all).not.toHaveProperty('x-own');
          if (target.hostname !== 'www.files.test') expect(all).not.toHaveProperty('cookie');
          if (target.protocol === 'http:') expect(all).not.toHaveProperty('cookie');
          expect(JSON.stringify(all)).not.toContain('secret');
        },
      ),
    );
  });
});

describe('cookies of answers', () => {
  const set = { 'set-cookie': ['s=1; Domain=files.test; Path=/'] };

  test('a redirect’s cookies are sent on, but only to hosts that they are for', () => {
    const fields = make();
    fields.onResponse(new URL(FIRST), chain(FIRST), set);
    expect(sent(fields, 'https://cdn.files.test/').cookie).toBe('s=1');
    expect(sent(fields, 'https://evil.test/').cookie).toBeUndefined();
  });

  test('are neither set by mirrors and edges nor sent to them', () => {
    const fields = make();
    const mirror = 'https://mirror.files.test/';
    fields.onResponse(new URL(mirror), chain(mirror), set);
    fields.onResponse(new URL(FIRST), chain(FIRST, 'edge'), set);
    expect(sent(fields, FIRST).cookie).toBeUndefined();
    fields.onResponse(new URL(FIRST), chain(FIRST), set);
    expect(sent(fields, FIRST).cookie).toBe('s=1');
    expect(sent(fields, mirror, mirror).cookie).toBeUndefined();
    expect(sent(fields, FIRST, FIRST, 'edge').cookie).toBeUndefined();
  });
});
