import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isMillraceError } from '../../base/errors.ts';
import { curlDownloads, isCurlText } from './curl-command.ts';
import { MAX_COMMAND_CHARS, shellCommands } from './shell-words.ts';

const read = (text: string) => curlDownloads(text, 100);
const url = 'https://h.example/f.iso?a=1&b=2';

/** As the developer tools of browsers quote words. */
const QUOTINGS = {
  'a POSIX shell': (word: string) => `'${word.replaceAll("'", `'\\''`)}'`,
  bash: (word: string) =>
    `$'${word.replace(/[^ -~]|[\\'!]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}'`,
  'double quotes of a shell': (word: string) => `"${word.replace(/[\\"$`]/g, '\\$&')}"`,
  'cmd with carets': (word: string) =>
    `^"${word
      .replace(/\\/g, '\\\\')
      .replace(/"/g, '\\"')
      .replace(/[^a-zA-Z0-9\s_\-:=+~'/.',?;()*`]/g, '^$&')}^"`,
  PowerShell: (word: string) => `'${word.replaceAll("'", "''")}'`,
} as const;
const STARTS: Readonly<Record<string, string>> = {
  'cmd with carets': 'curl ^"x^" ',
  PowerShell: "curl.exe 'x' ",
};

describe('words as browsers quote them', () => {
  test.each(Object.entries(QUOTINGS))('come back from %s', (shell, quote) => {
    const start = STARTS[shell] ?? "curl 'x' ";
    const word = fc.string({ unit: fc.constantFrom(...`ab '"\\$\`^%&|<>!;,{}[]#~é§=:/`) });
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), (words) => {
        const line = start + words.map(quote).join(' ');
        expect(shellCommands(line)).toEqual([[start.split(' ')[0], 'x', ...words]]);
      }),
    );
  });

  test('go on after an escaped line break, in each shell', () => {
    expect(shellCommands("curl 'a' \\\n -H 'b'\n")).toEqual([['curl', 'a', '-H', 'b']]);
    expect(shellCommands('curl ^"a^" ^\r\n  -H ^"b^"')).toEqual([['curl', 'a', '-H', 'b']]);
    expect(shellCommands('curl "a" ^\r\n -H "b ^ c"')).toEqual([['curl', 'a', '-H', 'b ^ c']]);
    expect(shellCommands('curl.exe \'a\' `\r\n -H "b`""')).toEqual([['curl.exe', 'a', '-H', 'b"']]);
  });

  test('end at the end of a command, but not at an & inside a URL', () => {
    expect(shellCommands("curl 'a' ;\ncurl b?c=1&d=2 & curl ''")).toEqual([
      ['curl', 'a'],
      ['curl', 'b?c=1&d=2'],
      ['curl', ''],
    ]);
  });
});

describe('a command of curl', () => {
  test('as Chrome copies it has its fields, without those of one request', () => {
    const [one, ...more] = read(`curl '${url}' \\
  -H 'accept: */*' -H 'Accept-Encoding: gzip, br' -H 'range: bytes=5-' -H 'If-None-Match: "x"' \\
  -b 'a=1; b=2' -H 'sec-ch-ua: "Chromium";v="140"' -H 'X-Empty;' -H 'Host: other' \\
  -H 'referer: https://h.example/' -A 'Agent/1 (x)' --compressed`);
    expect(more).toEqual([]);
    expect(one).toEqual({
      url,
      headers: {
        accept: '*/*',
        cookie: 'a=1; b=2',
        'sec-ch-ua': '"Chromium";v="140"',
        'x-empty': '',
        referer: 'https://h.example/',
        'user-agent': 'Agent/1 (x)',
      },
    });
  });

  test('may write short options together, and say name, log-in, proxy and rate', () => {
    const words = 'curl -sSLO h.example/a -u me:a:b --proxy p:80 --limit-rate 1k -X GET';
    expect(read(words)).toEqual([
      {
        url: 'http://h.example/a',
        login: { user: 'me', password: 'a:b' },
        proxy: 'http://p:80',
        limit: 1024,
      },
    ]);
    expect(read(`curl -fLo ../../x/y.iso -e 'http://r;auto' '${url}'`)).toEqual([
      { url, file: 'y.iso', headers: { referer: 'http://r' } },
    ]);
  });

  test('may stand for several files, by patterns or by several URLs', () => {
    expect(read("curl -O 'http://h/f[08-10].zip' http://h/x").map((one) => one.url)).toEqual(
      ['f08.zip', 'f09.zip', 'f10.zip', 'x'].map((name) => `http://h/${name}`),
    );
    expect(read("curl --globoff 'http://h/f[1-2].zip'")).toEqual([{ url: 'http://h/f[1-2].zip' }]);
    expect(read('curl -o a http://h/1 -o b http://h/2').map((one) => one.file)).toEqual(['a', 'b']);
  });

  test.each([
    ["-X POST 'http://h'", /-X POST: a download can only GET/],
    ["'http://h' --data-raw 'a=1'", /--data-raw: it sends something/],
    ["-d@x 'http://h'", /-d: it sends something/],
    ["-sF a=b 'http://h'", /-F: it sends something/],
    ['-I http://h', /-I: it asks for the header alone/],
    ['-k http://h', /-k: it accepts any certificate/],
    ['-r 0-5 http://h', /-r: it asks for a part/],
    ['-b jar.txt http://h', /-b: it reads cookies from a file/],
    ['-H @fields http://h', /-H @: it reads fields from a file/],
    ['-u me http://h', /-u: it asks for a password/],
    ['--frobnicate http://h', /--frobnicate: what this option does is not known/],
    ['-? http://h', /-\?: what this option does is not known/],
    ['http://h -H', /-H: its value is missing/],
    ['http://h | tar xz', /"\|" needs a shell/],
    ['http://h/$(id)', /no shell is run/],
    ['"http://h/$HOME"', /no shell is run/],
    ["'http://h", /quote in the command is not closed/],
    ['ftp://h/x', /ftp:: only http and https/],
    ['-L', /has no URL/],
    ['-o a http://h/[1-2]', /-o: it does not name each/],
    ['http://h/[0-999999]', /more than 100 URLs/],
    ['http://h; rm -rf x', /"rm" is not curl/],
  ])('%s is refused with the reason', (rest, reason) => {
    expect(() => read(`curl ${rest}`)).toThrow(reason);
  });

  test('tells no secret in its errors', () => {
    for (const rest of ["-H 'secret'", "-u secret 'http://h'", "-b secret 'http://h'"]) {
      expect(() => read(`curl ${rest}`)).toThrow(expect.not.stringMatching(/secret/) as never);
    }
  });

  test('has a sentence of bounded length for each of its faults', () => {
    const long = 'x'.repeat(5000);
    for (const text of [`curl --${long} http://h`, `curl http://h\n${long} y`, `curl -X ${long}`]) {
      expect(() => read(text)).toThrow(expect.not.stringMatching(/x{100}/) as never);
    }
  });

  test('is told from other texts', () => {
    expect([`curl ${url}`, ' $ curl x', 'curl.exe x', 'CURL x'].every(isCurlText)).toBe(true);
    expect(['curling https://h', 'see curl x', url, ''].some(isCurlText)).toBe(false);
  });

  test('of any text is read or refused, within bounds', () => {
    const part = fc.constantFrom(
      ...[
        'curl ',
        "'",
        '"',
        '\\',
        '^',
        '`',
        '$',
        '\n',
        ' ',
        '-H ',
        '-o',
        'http://h/',
        '[1-9]',
        '{a,b}',
      ],
      ...['a: b', '-', '@', '&', ';', '\u0000', 'é', '--', ':'],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        try {
          const found = read(`curl ${parts.join('')}`);
          expect(found.length).toBeLessThanOrEqual(100);
          for (const one of found) expect(one.url).toMatch(/^https?:/i);
        } catch (error) {
          expect(isMillraceError(error, 'bad-option')).toBe(true);
        }
      }),
    );
    expect(() => read(`curl ${'x'.repeat(MAX_COMMAND_CHARS)}`)).toThrow(/too long/);
    expect(() => read(`curl ${'x '.repeat(5000)}`)).toThrow(/too many words/);
  });
});
