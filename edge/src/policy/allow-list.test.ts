import { describe, expect, test } from '@jest/globals';
import { AllowList } from './allow-list.ts';

const check = (entries: string[], url: string) => new AllowList(entries).check(new URL(url));
const allowed = (entry: string, url: string) => check([entry], url).allowed;

describe('AllowList', () => {
  test('allows nothing by default', () => {
    expect(new AllowList([]).empty).toBe(true);
    expect(check([], 'https://example.com/')).toEqual({ allowed: false, privateToo: false });
    expect(new AllowList(['*']).empty).toBe(false);
  });

  test.each([
    ['example.com', 'https://example.com/x'],
    ['example.com', 'http://example.com:8080/x'],
    ['EXAMPLE.com', 'https://Example.COM/x'],
    [' example.com ', 'https://example.com/x'],
    ['example.com.', 'https://example.com/x'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
    ['*.example.com', 'https://www.example.com/'],
    ['*.example.com', 'https://a.b.example.com/'],
    ['*', 'https://anything.example/'],
    ['https://*', 'https://anything.example/'],
    ['*:8080', 'http://example.com:8080/'],
    ['https://example.com', 'https://example.com/'],
    ['example.com:443', 'https://example.com/'],
    ['example.com:80', 'http://example.com/'],
    ['example.com:08080', 'http://example.com:8080/'],
    ['example.com/pub', 'https://example.com/pub'],
    ['example.com/pub', 'https://example.com/pub/x?y'],
    ['example.com/pub/', 'https://example.com/pub/x'],
    ['example.com/', 'https://example.com/'],
    ['127.0.0.1', 'http://127.0.0.1/'],
    ['0x7f.1', 'http://127.0.0.1/'],
    ['[::1]', 'http://[::1]/'],
    ['[0:0:0:0:0:0:0:1]:8080', 'http://[::1]:8080/'],
    ['localhost:3000/files', 'http://localhost:3000/files/x'],
  ])('%s lets %s through', (entry, url) => {
    expect(allowed(entry, url)).toBe(true);
  });

  test.each([
    ['example.com', 'https://www.example.com/'],
    ['example.com', 'https://badexample.com/'],
    ['example.com', 'https://example.com.evil.example/'],
    ['*.example.com', 'https://example.com/'],
    ['*.example.com', 'https://badexample.com/'],
    ['*.example.com', 'https://example.com.evil.example/'],
    ['http://example.com', 'https://example.com/'],
    ['https://*', 'http://example.com/'],
    ['example.com:8080', 'https://example.com/'],
    ['example.com:80', 'https://example.com/'],
    ['example.com/pub', 'https://example.com/public'],
    ['example.com/pub', 'https://example.com/'],
    ['example.com/pub/', 'https://example.com/pub'],
    ['example.com/pub', 'https://example.com/pub/../private'],
    ['example.com/pub', 'https://example.com/pub/%2e%2e/private'],
    ['example.com/pub', 'https://example.com/PUB/x'],
    ['127.0.0.1', 'http://127.0.0.2/'],
    ['[::1]', 'http://[::2]/'],
  ])('%s does not let %s through', (entry, url) => {
    expect(allowed(entry, url)).toBe(false);
  });

  test('the entries add up', () => {
    const entries = ['a.example', '*.b.example', 'https://c.example/pub'];
    expect(check(entries, 'http://a.example/').allowed).toBe(true);
    expect(check(entries, 'http://x.b.example/').allowed).toBe(true);
    expect(check(entries, 'https://c.example/pub/x').allowed).toBe(true);
    expect(check(entries, 'https://c.example/x').allowed).toBe(false);
  });

  test.each([
    [['localhost'], 'http://localhost/', true],
    [['127.0.0.1'], 'http://127.0.0.1/', true],
    [['*'], 'http://127.0.0.1/', false],
    [['*.internal'], 'http://db.internal/', false],
    [['*', 'localhost'], 'http://localhost/', true],
    [['*', 'localhost'], 'http://127.0.0.1/', false],
    [['*', 'localhost:3000'], 'http://localhost:4000/', false],
    [['*', 'localhost/pub'], 'http://localhost/secret', false],
  ])('with %j, %s may be at a private address: %s', (entries, url, privateToo) => {
    expect(check(entries, url).privateToo).toBe(privateToo);
  });

  test.each([
    '',
    ' ',
    '*example.com',
    'www.*.com',
    '*.*.com',
    '*.',
    'ftp://example.com',
    'http://',
    '://example.com',
    'example.com:port',
    'example.com:123456',
    'example.com/a b',
    'exa mple.com',
    '::1',
    '[::1',
    '[zz::]',
    '256.256.256.256',
    'a<b',
  ])('%j is refused by name', (entry) => {
    expect(() => new AllowList(['example.com', entry])).toThrow(
      expect.objectContaining({
        code: 'bad-option',
        detail: expect.stringContaining(`"${entry}"`),
      }),
    );
  });
});
