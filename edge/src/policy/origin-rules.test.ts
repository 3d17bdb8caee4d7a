import { describe, expect, test } from '@jest/globals';
import { checkAgainstRule, OriginRules } from './origin-rules.ts';

const MiB = 1024 * 1024;
const rules = (file: object) => new OriginRules(JSON.stringify(file));
const check = (file: object, url: string) => rules(file).check(new URL(url));

describe('which rule counts', () => {
  const file = {
    defaults: { maxFileSize: '1MiB' },
    origins: [
      { origin: '*', maxFileSize: '2MiB' },
      { origin: '*.example.com', maxFileSize: '3MiB' },
      { origin: '*.big.example.com', maxFileSize: '4MiB' },
      { origin: 'www.example.com', maxFileSize: '5MiB' },
      { origin: 'www.example.com/pub', maxFileSize: '6MiB' },
      { origin: 'https://www.example.com/pub', maxFileSize: '7MiB' },
      { origin: 'www.example.com:8080/pub', maxFileSize: '8MiB' },
      { origin: 'www.example.com/private', allow: false },
    ],
  };
  test.each([
    ['http://other.example/', 2],
    ['http://a.example.com/', 3],
    ['http://a.big.example.com/', 4],
    ['http://www.example.com/', 5],
    ['http://www.example.com/public', 5],
    ['http://www.example.com/pub/x', 6],
    ['https://www.example.com/pub/x', 7],
    ['http://www.example.com:8080/pub/x', 8],
    // It is not certain that this is below /pub: the rule for all of the host applies.
    ['http://www.example.com/pub/..%2fx', 5],
  ])('%s: the narrowest one, %d', (url, size) => {
    const verdict = check(file, url);
    expect([verdict.says, verdict.rule.maxFileSize]).toEqual(['serve', size * MiB]);
  });

  test('an origin that no entry names has the defaults, and is not served because of them', () => {
    const some = { ...file, origins: file.origins.slice(3) };
    expect(check(some, 'http://other.example/')).toEqual({
      says: 'none',
      privateToo: false,
      rule: { maxFileSize: MiB },
    });
    expect(rules(some).servesNothing).toBe(false);
    expect(rules({ defaults: {} }).servesNothing).toBe(true);
    expect(rules({ origins: [{ origin: 'a.example', allow: false }] }).servesNothing).toBe(true);
  });

  test.each([
    '/private',
    '/private/x',
    '/pub/..%2fprivate/x',
    '/pub/%2e%2e%2Fprivate',
    '/pub/..%252fprivate/x',
    '/pub/..;/private/x',
    '/pub/..%5cprivate',
    '//private/x',
    '/%70rivate/x',
    '/private;v=1/x',
    '/pub/%25252525252e',
  ])('a part that is refused cannot be reached as %s', (path) => {
    expect(check(file, `http://www.example.com${path}`).says).toBe('refuse');
  });

  test('private addresses are for entries that name them', () => {
    const some = { origins: [{ origin: '*' }, { origin: '127.0.0.1' }] };
    expect(check(some, 'http://127.0.0.1/').privateToo).toBe(true);
    expect(check(some, 'http://127.0.0.2/').privateToo).toBe(false);
  });
});

describe('a file that cannot be used', () => {
  test.each([
    ['{', /it is not JSON/],
    ['[]', /expected object/],
    ['{"origin": []}', /Unrecognized key: "origin"/],
    ['{"origins": [{"orign": "a.example"}]}', /origins\.0/],
    ['{"origins": [{"origin": "ftp://a"}]}', /"ftp:\/\/a" is not an origin/],
    ['{"defaults": {"maxFileSize": "big"}}', /defaults\.maxFileSize: "big" is not a size/],
    ['{"defaults": {"maxFileSize": 5}}', /defaults\.maxFileSize/],
    ['{"defaults": {"contentTypes": ["zip"]}}', /contentTypes\.0: must be like/],
    ['{"defaults": {"contentTypes": []}}', /contentTypes/],
    ['{"defaults": {"quota": {"bytes": "1TB"}}}', /quota\.per/],
    ['{"defaults": {"quota": {"bytes": "1TB", "per": "1ms"}}}', /quota\.per/],
    [
      '{"origins": [{"origin": "a.example", "allow": "yes"}]}',
      /allow: must be true, false or "signed"/,
    ],
    ['{"defaults": {"transfers": 0}}', /transfers/],
    ['{"defaults": {"rate": "0"}}', /rate: a rate must be more than 0/],
    ['{"defaults": {"fresh": "-1h"}}', /fresh/],
    ['{"defaults": {"staleIfError": "400d"}}', /staleIfError/],
    ['{"defaults": {"dropFields": ["ETag"]}}', /dropFields\.0: is not a field of a file/],
    ['{"defaults": {"addFields": {"Set-Cookie": "a=b"}}}', /addFields/],
    ['{"defaults": {"addFields": {"Content-Security-Policy": "x"}}}', /addFields/],
    ['{"defaults": {"addFields": {"X-A": "a\\r\\nb"}}}', /addFields/],
    ['{"defaults": {"ignoreQuery": true}}', /ignoreQuery: must be "all", a list/],
    ['{"defaults": {"ignoreQuery": ["*"]}}', /ignoreQuery/],
    ['{"defaults": {"cors": {"origins": "https://a.example"}}}', /cors\.origins: must be/],
    ['{"defaults": {"cors": {"origins": ["https://a.example/"]}}}', /cors\.origins/],
    ['{"defaults": {"cors": {"origins": "*", "credentials": true}}}', /credentials/],
    [JSON.stringify({ origins: Array(1001).fill({ origin: '*' }) }), /origins: Too big/],
  ])('%s is refused with the reason', (text, reason) => {
    expect(() => new OriginRules(text)).toThrow(
      expect.objectContaining({ code: 'bad-option', detail: expect.stringMatching(reason) }),
    );
  });

  test('is reported if it is missing', () => {
    expect(() => OriginRules.fromFile('/does/not/exist')).toThrow(/cannot be read/);
  });
});

describe('a file that is checked against a rule', () => {
  const only = { contentTypes: ['application/*', 'text/plain'] };
  const no = { refuseContentTypes: ['text/html', 'image/*'] };
  test.each([
    [only, 'application/zip', undefined],
    [only, 'Application/ZIP; q=1', undefined],
    [only, 'text/plain; charset=utf-8', undefined],
    [only, undefined, undefined],
    [only, 'text/html', 'content-type-refused'],
    [only, 'applicationx/zip', 'content-type-refused'],
    [only, 'application/zip, text/html', 'content-type-refused'],
    [no, 'application/zip', undefined],
    [no, 'TEXT/HTML', 'content-type-refused'],
    [no, 'image/png', 'content-type-refused'],
    [no, 'application/zip, image/png', 'content-type-refused'],
    [{ contentTypes: ['*/*'] }, 'x/y', undefined],
  ])('%j: %s', (rule, type, code) => {
    const held = () => checkAgainstRule(rule, { type, length: 5 });
    if (code === undefined) expect(held).not.toThrow();
    else expect(held).toThrow(expect.objectContaining({ code }));
  });

  test.each([
    [1000, undefined],
    [1001, 'file-too-large'],
    [undefined, undefined],
  ])('%s bytes of 1000', (length, code) => {
    const held = () => checkAgainstRule({ maxFileSize: 1000 }, { length });
    if (code === undefined) expect(held).not.toThrow();
    else expect(held).toThrow(expect.objectContaining({ code }));
  });
});

describe('files that never change', () => {
  const file = {
    origins: [
      { origin: 'a.example', fresh: '1m', maxFileSize: '1MiB', immutable: ['.deb', '/pool/'] },
    ],
  };
  test.each([
    ['/pool/a.txt', true],
    ['/x/pool/y/a', true],
    ['/a.deb', true],
    ['/a.deb?x=.deb', true],
    ['/a.debs', false],
    ['/?x=.deb', false],
    ['/pool', false],
    ['/my.pool/a', false],
  ])('%s: %j', (path, lasts) => {
    const { rule } = check(file, `https://a.example${path}`);
    expect(rule.fresh).toBe(lasts ? 365 * 86_400_000 : 60_000);
    expect(rule.maxFileSize).toBe(MiB);
  });

  test.each([
    ['deb', 'must be like .deb or /pool/'],
    ['/', 'must be like .deb or /pool/'],
    ['', 'must be like .deb or /pool/'],
  ])('%j is refused', (part, why) => {
    const broken = { origins: [{ origin: 'a.example', immutable: [part] }] };
    expect(() => rules(broken)).toThrow(
      expect.objectContaining({ code: 'bad-option', detail: `origins.0.immutable.0: ${why}` }),
    );
  });

  test('fields that a message needs are not taken from redirects', () => {
    for (const redirectFields of [['Location'], ['ETag'], ['Set-Cookie'], ['Content-Length']]) {
      expect(() => rules({ origins: [{ origin: 'a.example', redirectFields }] })).toThrow(
        expect.objectContaining({ code: 'bad-option' }),
      );
    }
  });
});
