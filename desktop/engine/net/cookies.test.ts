import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Cookies, readCookieFile } from './cookies.ts';

const from = (text: string): Cookies => {
  const cookies = new Cookies();
  cookies.addFile(text);
  return cookies;
};
const field = (cookies: Cookies, url: string) => cookies.fieldFor(new URL(url));

describe('the cookies of a Cookie field', () => {
  const cookies = new Cookies();
  cookies.addField('a=1; b="2 x"; c=d=e; ;bare', new URL('https://files.test/x/y'));

  test('go to that host unchanged, over https:// only', () => {
    expect(field(cookies, 'https://files.test/')).toBe('a=1; b="2 x"; c=d=e; bare');
    expect(field(cookies, 'https://files.test:8443/elsewhere')).toContain('a=1');
    expect(field(cookies, 'http://files.test/x/y')).toBeUndefined();
  });

  test('go to no other host', () => {
    for (const host of ['cdn.files.test', 'test', 'evil.test', 'xfiles.test', '127.0.0.1']) {
      expect(field(cookies, `https://${host}/`)).toBeUndefined();
    }
  });

  test('from a plain http:// URL stay when it moves to https://', () => {
    const plain = new Cookies();
    plain.addField('a=1', new URL('http://127.0.0.1:8080/'));
    expect(field(plain, 'http://127.0.0.1:8080/x')).toBe('a=1');
    expect(field(plain, 'https://127.0.0.1/x')).toBe('a=1');
    expect(field(plain, 'http://127.0.0.2:8080/x')).toBeUndefined();
  });
});

describe('cookies.txt', () => {
  // This text has the form of files from curl, yt-dlp and the exporters of browsers.
  const FILE = [
    '# Netscape HTTP Cookie File',
    '# https://curl.se/docs/http-cookies.html',
    '',
    '.example.com\tTRUE\t/\tFALSE\t0\twide\t1',
    'www.example.com\tFALSE\t/\tTRUE\t4102444800\tnarrow\t2',
    '#HttpOnly_.example.com\tTRUE\t/dir\tTRUE\t4102444800.5\thidden\t3',
    '.example.com\tTRUE\t/\tFALSE\t946684800\texpired\t4',
    'example.com\tFALSE\t/\tFALSE\t\tempty\t',
    '127.0.0.1\tFALSE\t/\tFALSE\t0\tlocal\t5',
    'localhost\tTRUE\t/\tFALSE\t0\tlocal\t6',
  ].join('\r\n');

  test('each cookie goes only where its domain, path and Secure allow it', () => {
    const cookies = from(FILE);
    expect(field(cookies, 'http://example.com/')).toBe('wide=1; empty=');
    expect(field(cookies, 'http://a.b.example.com/')).toBe('wide=1');
    expect(field(cookies, 'http://www.example.com/dir/x')).toBe('wide=1');
    expect(field(cookies, 'https://www.example.com/')).toBe('wide=1; narrow=2');
    expect(field(cookies, 'https://example.com/dir/x')).toBe('hidden=3; wide=1; empty=');
    expect(field(cookies, 'https://example.com/directory')).toBe('wide=1; empty=');
    expect(field(cookies, 'http://127.0.0.1:99/')).toBe('local=5');
    expect(field(cookies, 'http://localhost/')).toBe('local=6');
    expect(field(cookies, 'https://notexample.com/')).toBeUndefined();
    expect(field(cookies, 'https://example.com.evil.test/')).toBeUndefined();
  });

  test('invalid lines are counted, and the others are used', () => {
    const lines = [
      'nonsense',
      '.github.io\tTRUE\t/\tFALSE\t0\tall\t1',
      '.co.uk\tTRUE\t/\tFALSE\t0\tall\t1',
      'example.com\tFALSE\tno-path\tFALSE\t0\ta\t1',
      'example.com\tFALSE\t/\tperhaps\t0\ta\t1',
      'example.com\tFALSE\t/\tFALSE\tsoon\ta\t1',
      'example.com\tFALSE\t/\tFALSE\t0\ta\tx\x01y',
      `example.com\tFALSE\t/\tFALSE\t0\ta\t${'x'.repeat(5000)}`,
      'example.com\tFALSE\t/\tFALSE\t0\tgood\t1',
    ];
    const cookies = new Cookies();
    expect(cookies.addFile(lines.join('\n'))).toEqual({ taken: 1, skipped: 8 });
    expect(field(cookies, 'https://example.com/')).toBe('good=1');
    expect(field(cookies, 'https://other.co.uk/')).toBeUndefined();
  });

  test('an empty file is accepted, a file in another format is not', () => {
    expect(new Cookies().addFile('# Netscape HTTP Cookie File\n\n')).toEqual({
      taken: 0,
      skipped: 0,
    });
    expect(() => new Cookies().addFile('[{"domain": "example.com"}]')).toThrow(/cookies\.txt/);
  });

  test('a field that is too long for servers is cut after a whole cookie', () => {
    const lines = Array.from(
      { length: 100 },
      (_, i) => `example.com\tFALSE\t/\tFALSE\t0\tn${i}\t${'v'.repeat(1000)}`,
    );
    const sent = field(from(lines.join('\n')), 'https://example.com/') ?? '';
    expect(sent.length).toBeGreaterThan(14_000);
    expect(sent.length).toBeLessThanOrEqual(16_384);
    for (const pair of sent.split('; ')) expect(pair).toMatch(/^n\d+=v{1000}$/);
  });
});

describe('cookies that servers set', () => {
  const at = new URL('https://www.example.com/login');

  test('are kept, replaced and removed', () => {
    const cookies = new Cookies();
    cookies.addField('session=old', at);
    cookies.onSetCookie(at, ['session=new; Path=/; Secure', 'wide=1; Domain=example.com']);
    expect(field(cookies, 'https://www.example.com/file')).toBe('session=new; wide=1');
    expect(field(cookies, 'https://cdn.example.com/file')).toBe('wide=1');
    cookies.onSetCookie(at, 'session=; Path=/; Max-Age=0');
    expect(field(cookies, 'https://www.example.com/file')).toBe('wide=1');
    cookies.onSetCookie(at, undefined);
  });

  test('for other hosts are refused', () => {
    const cookies = new Cookies();
    cookies.onSetCookie(at, [
      'a=1; Domain=other.com',
      'b=1; Domain=com',
      'c=1; Domain=sub.www.example.com',
      `d=${'x'.repeat(5000)}`,
      'e=\x01',
      '',
    ]);
    for (const host of ['other.com', 'x.com', 'sub.www.example.com', 'www.example.com']) {
      expect(field(cookies, `https://${host}/login`)).toBeUndefined();
    }
  });

  test('are refused beyond a limit', () => {
    const cookies = new Cookies();
    for (let i = 0; i < 600; i++) cookies.onSetCookie(at, `n${i}=1; Path=/`);
    expect(field(cookies, at.href)?.split('; ')).toHaveLength(500);
  });
});

describe('readCookieFile', () => {
  let dir = '';
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'millrace-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  test('bytes of any encoding are sent unchanged', async () => {
    const path = join(dir, 'cookies.txt');
    await writeFile(path, 'example.com\tFALSE\t/\tFALSE\t0\tname\tgrün\n');
    const cookies = new Cookies();
    expect(await readCookieFile(cookies, path)).toEqual({ taken: 1, skipped: 0 });
    const sent = Buffer.from(field(cookies, 'https://example.com/') ?? '', 'latin1');
    expect(sent.toString()).toBe('name=grün');
  });

  test('a file that is missing or huge is an error', async () => {
    const huge = join(dir, 'huge');
    await writeFile(huge, '');
    await truncate(huge, 17 * 1024 * 1024);
    for (const path of [join(dir, 'missing'), huge, dir]) {
      await expect(readCookieFile(new Cookies(), path)).rejects.toMatchObject({
        code: 'bad-option',
        detail: expect.stringContaining(path),
      });
    }
  });
});
