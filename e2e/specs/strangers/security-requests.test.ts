/** Attacks with requests: smuggling, injection through the URL, oversize, confusion about files. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { rawConnect, rawExchange } from '../../fixtures/clients/raw-client.ts';
import { EchoOrigin } from '../../fixtures/origins/echo-origin.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const origin = await EchoOrigin.start();
const folder = await temporaryFolder();
const token = 'a token of administration';
await writeFile(join(folder.path, 'token'), token);
const edge = await EdgeProcess.start([
  ...['--allow-origin', '127.0.0.1', '--allow-origin', 'localhost', '--default-scheme', 'http'],
  ...['--chunk-size', '64KiB', '--admin-token-file', join(folder.path, 'token')],
]);
const { host } = origin;

beforeEach(() => {
  origin.targets.length = 0;
});
afterAll(async () => {
  await edge.stop('SIGKILL');
  await origin.stop();
  await folder.remove();
});

/** Expects that the edge still answers, and correctly. */
async function isWell(): Promise<void> {
  const got = await fetchAll(`${edge.url}/http://${host}/well`);
  expect([got.status, got.digest]).toEqual([200, origin.digest('/well')]);
}

describe('request smuggling', () => {
  const behind = `GET /http://${host}/smuggled HTTP/1.1\r\nHost: x\r\n\r\n`;
  const get = (fields: string, body = '') =>
    `GET /http://${host}/first HTTP/1.1\r\nHost: x\r\n${fields}\r\n${body}`;
  const chunked = 'Transfer-Encoding: chunked\r\n';

  test.each<[string, string]>([
    ['CL.TE', get(`Content-Length: ${behind.length + 5}\r\n${chunked}`, `0\r\n\r\n${behind}`)],
    ['TE.CL', get(`${chunked}Content-Length: 4\r\n`, `5c\r\n${behind}\r\n0\r\n\r\n`)],
    [
      'TE.TE, one obfuscated',
      get(`Transfer-Encoding: xchunked\r\n${chunked}`, `0\r\n\r\n${behind}`),
    ],
    [
      'TE with identity last',
      get('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${behind}`),
    ],
    ['TE with a vertical tab', get(`Transfer-Encoding:\x0bchunked\r\n`, `0\r\n\r\n${behind}`)],
    ['TE before a space and a colon', get(`Transfer-Encoding : chunked\r\n`, `0\r\n\r\n${behind}`)],
    ['two lengths', get(`Content-Length: 0\r\nContent-Length: ${behind.length}\r\n`, behind)],
    ['two lengths in one field', get(`Content-Length: 0, ${behind.length}\r\n`, behind)],
    ['a length with a sign', get(`Content-Length: +0\r\n`, behind)],
    ['a hexadecimal length', get(`Content-Length: 0x0\r\n`, behind)],
    ['a negative length', get(`Content-Length: -1\r\n`, behind)],
    ['a length beyond all numbers', get(`Content-Length: 99999999999999999999999\r\n`, behind)],
    ['a folded field', get(`X: a\r\n ${chunked}`, `0\r\n\r\n${behind}`)],
    ['a folded length', get(`Content-Length:\r\n ${behind.length}\r\n`, behind)],
    ['a bare LF in the header', get(`X: a\nContent-Length: ${behind.length}\r\n`, behind)],
    ['bare LFs only', behind.replaceAll('\r\n', '\n')],
    ['a bare CR in the header', get(`X: a\rContent-Length: 0\r\n`, behind)],
    ['a NUL in the header', get(`X: a\0b\r\n`, behind)],
    ['a space before the colon', get(`Content-Length : 0\r\n`, behind)],
    ['a field without a name', get(`: 0\r\n`, behind)],
    [
      'a tab in the request line',
      `GET\t/http://${host}/first HTTP/1.1\r\nHost: x\r\n\r\n${behind}`,
    ],
    ['a chunk with a bare LF', get(chunked, `1;a=b\nX\r\n0\r\n\r\n${behind}`)],
    ['a chunk of no hexadecimal size', get(chunked, `0x0\r\n\r\n${behind}`)],
    ['a chunk of far too large a size', get(chunked, `fffffffffffffffff\r\n${behind}`)],
    [
      'extensions of chunks without end',
      get(chunked, `1;${'a'.repeat(60_000)}\r\nX\r\n0\r\n\r\n${behind}`),
    ],
    [
      'an HTTP version that does not exist',
      `GET /http://${host}/first HTTP/1.9\r\nHost: x\r\n\r\n${behind}`,
    ],
    [
      'HTTP/1.0 with chunks',
      `GET /http://${host}/first HTTP/1.0\r\n${chunked}\r\n0\r\n\r\n${behind}`,
    ],
    ['a request as the body of another', get(`Content-Length: ${behind.length}\r\n`, behind)],
    [
      'a request as a chunk of another',
      get(chunked, `${behind.length.toString(16)}\r\n${behind}\r\n0\r\n\r\n`),
    ],
    ['the first line of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${behind}`],
    [
      'CONNECT',
      `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n${behind.replace(`/http://${host}`, '')}`,
    ],
    ['Upgrade', get('Connection: Upgrade\r\nUpgrade: h2c\r\n').replace('/first', '/well')],
  ])('%s: the bytes behind it are not taken for a request', async (_, text) => {
    const answers = await rawExchange(edge.url, text);
    expect(answers.length).toBeLessThanOrEqual(1);
    expect(origin.targets).not.toContain('/smuggled');
    await isWell();
  });

  test.each([
    ['a file', `/http://${host}/first`],
    ['an own page', '/-/status'],
  ])('two Host fields: refused, whichever comes first, for %s', async (_, target) => {
    const fields = ['Host: x', 'X: y', 'hOST: y'].join('\r\n');
    const text = `GET ${target} HTTP/1.1\r\n${fields}\r\n\r\n${behind}`;
    const [answer, ...more] = await rawExchange(edge.url, text);
    expect([answer?.status, more]).toEqual([400, []]);
    expect(origin.targets).toEqual([]);
    await isWell();
  });

  test.each([
    ['a file', `/http://${host}/first`],
    ['an own page', '/-/status'],
  ])(
    'an offer to upgrade ends its connection, because bytes behind it may get lost: %s',
    async (_, target) => {
      const fields = ['Host: x', 'Connection: Upgrade', 'Upgrade: h2c'].join('\r\n');
      const socket = await rawConnect(edge.url);
      let text = '';
      socket.on('data', (piece) => {
        text += piece;
        socket.write(Buffer.from('GET /\xe9 no request\r\n\r\n', 'latin1'));
      });
      socket.write(`GET ${target} HTTP/1.1\r\n${fields}\r\n\r\n${behind}`);
      await until(() => socket.closed);
      const [head] = text.split('\r\n\r\n', 1);
      expect(head).toMatch(/^HTTP\/1\.1 200 [\s\S]*^connection: close/im);
      expect(text.match(/^HTTP\/1\.1 \d+/gm)).toHaveLength(1);
      expect(origin.targets).not.toContain('/smuggled');
      await isWell();
    },
  );

  test('requests that follow each other are answered in turn, each with its own file', async () => {
    const ask = (path: string, more = '') =>
      `GET /http://${host}${path} HTTP/1.1\r\nHost: x\r\nRange: bytes=0-9\r\n${more}\r\n`;
    const last = ask('/one', 'Connection: close\r\n');
    const answers = await rawExchange(edge.url, ask('/one') + ask('/two') + last, 'server');
    expect(answers.map(({ status }) => status)).toEqual([206, 206, 206]);
    expect(answers[0]?.body).toBe(answers[2]?.body);
    expect(answers[0]?.body).not.toBe(answers[1]?.body);
  });

  test('a body that looks like a request with a raw target is not taken for one', async () => {
    const body = `GET /http://${host}/smuggled-\xe9 HTTP/1.1\r\nHost: x\r\n\r\n`;
    const head = `HEAD /http://${host}/well HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = await rawConnect(edge.url);
    let answer = '';
    socket.on('data', (piece) => {
      answer += piece;
    });
    socket.write(head);
    await until(() => answer.includes('\r\n\r\n') || socket.closed);
    // In one packet with another client's request, as a proxy before the edge might send it.
    socket.write(
      Buffer.from(`${body}GET /http://${host}/other-\xe9 HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1'),
    );
    await until(() => socket.closed);
    expect(origin.targets.filter((target) => target.includes('smuggled'))).toEqual([]);
    await isWell();
  });

  test('a whole URL in the request line does not make the edge a proxy', async () => {
    for (const target of [
      `http://${host}/first`,
      `//${host}/first`,
      host,
      '*',
      `x/http://${host}/first`,
    ]) {
      const [answer] = await rawExchange(
        edge.url,
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      );
      expect([target, answer?.status]).toEqual([target, expect.any(Number)]);
    }
    expect(origin.targets).not.toContain('/first');
  });
});

describe('header injection through the URL', () => {
  const evil = 'X-Injected: yes';
  const forms: [string, string][] = [
    ['CR LF, encoded', `%0d%0a${encodeURIComponent(evil)}`],
    ['LF, encoded', `%0A${encodeURIComponent(evil)}`],
    ['twice encoded', `%250d%250a${encodeURIComponent(evil)}`],
    ['in the query', `?x=%0d%0a${encodeURIComponent(evil)}`],
    ['as characters whose low byte is CR LF', `%E5%98%8A%E5%98%8D${encodeURIComponent(evil)}`],
    ['with NEL and LS', `%C2%85%E2%80%A8${encodeURIComponent(evil)}`],
    ['with NUL', `%00${encodeURIComponent(evil)}`],
  ];
  test.each(forms)('%s: adds no field, and is part of the file’s name', async (_, form) => {
    const got = await fetchAll(`${edge.url}/http://${host}/file${form}`);
    expect(got.headers).not.toHaveProperty('x-injected');
    // Such a file may exist: the edge asks the origin for exactly this path, and nothing else.
    expect(got.digest).toBe(origin.digest(`/file${form}`));
    expect(origin.targets).toEqual([`/file${form}`]);
  });

  test('in the host: the URL is refused', async () => {
    for (const name of ['a%0d%0aX-Injected:%20yes', 'a%20b', 'a%00b', 'a%2fb', 'a%23b', 'a%40b']) {
      const got = await fetchAll(`${edge.url}/http://${name}/file`);
      expect([name, got.status]).toEqual([name, 400]);
      expect(got.headers).not.toHaveProperty('x-injected');
    }
  });

  test.each([
    ['CR LF, raw', '/x\r\nX-Injected: yes'],
    ['LF, raw', '/x\nX-Injected: yes'],
    ['CR, raw', '/x\rX-Injected: yes'],
    ['NUL, raw', '/x\0X-Injected: yes'],
    ['CR LF, encoded', '/x%0d%0aX-Injected: yes'],
    [
      'a whole answer',
      '/x\r\n\r\nHTTP/1.1 200 OK\r\nX-Injected: yes\r\nContent-Length: 3\r\n\r\nbad',
    ],
    ['another scheme', 'javascript:alert(1)'],
    ['credentials', 'http://user:secret@127.0.0.1/x'],
  ])('in the Location of a redirect: %s', async (_, location) => {
    const got = await fetchAll(
      `${edge.url}/http://${host}/redirect?to=${encodeURIComponent(location)}`,
    );
    expect(got.headers).not.toHaveProperty('x-injected');
    expect(got.headers).not.toHaveProperty('location');
    expect(got.body.toString()).not.toBe('bad');
    for (const target of origin.targets) expect(target).not.toMatch(/[\r\n ]/);
    await isWell();
  });
});

describe('oversize', () => {
  const filled = (bytes: number) => 'a'.repeat(bytes);
  test.each<[string, string, number]>([
    ['URL', `GET /http://${host}/${filled(9000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
    [
      'URL beyond the header',
      `GET /http://${host}/${filled(500_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      431,
    ],
    ['field', `GET /http://${host}/x HTTP/1.1\r\nHost: x\r\nX: ${filled(100_000)}\r\n\r\n`, 431],
    ['name of a field', `GET / HTTP/1.1\r\nHost: x\r\n${filled(100_000)}: x\r\n\r\n`, 431],
    ['set of fields', `GET / HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(20_000)}\r\n`, 431],
    ['method', `${filled(100_000)} / HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
    ['version', `GET / HTTP/1.${'1'.repeat(100_000)}\r\nHost: x\r\n\r\n`, 400],
    [
      'signed link',
      `GET /-/signed/${filled(9000)}/http://${host}/x HTTP/1.1\r\nHost: x\r\n\r\n`,
      403,
    ],
  ])('an oversized %s is refused', async (_, text, status) => {
    const answers = await rawExchange(edge.url, text);
    // A client that still sends when the edge closes may lose the answer to a reset.
    expect(answers.map((answer) => answer.status)).toEqual(answers.length === 0 ? [] : [status]);
    await isWell();
  });

  test('the edge neither waits for the body of a GET nor reads it', async () => {
    const target = `http://${host}/well`;
    const text = `HEAD /${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`;
    const [answer] = await rawExchange(edge.url, text);
    expect(answer).toMatchObject({
      status: 200,
      head: expect.stringMatching(/^connection: close/im),
    });
    const socket = await rawConnect(edge.url);
    socket.write(text.replace('5', '999999999'));
    let sent = 0;
    const fill = () => {
      while (!socket.destroyed && sent < 500e6 && socket.write(Buffer.alloc(65_536)))
        sent += 65_536;
    };
    socket.on('drain', fill);
    fill();
    await until(() => socket.closed);
    expect(sent).toBeLessThan(100e6);
    await isWell();
  });

  test.each([
    ['to a file', `/http://${host}/x`, 405],
    ['to administration', '/-/drain', 400],
    ['to a page that does not exist', '/-/nothing', 400],
  ])('a body %s is refused', async (_, path, status) => {
    const size = 1_000_000;
    const fields = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    const text = `POST ${path} HTTP/1.1\r\n${fields}Content-Length: ${size}\r\n\r\n${' '.repeat(size)}`;
    const answers = await rawExchange(edge.url, text);
    expect(answers.map((answer) => answer.status)).toEqual(answers.length === 0 ? [] : [status]);
    expect((await edge.status()).draining).toBe(false);
    await isWell();
  });

  test('the body of an administrative request without the token is not read', async () => {
    const text = `POST /-/drain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n`;
    const [answer] = await rawExchange(edge.url, text);
    expect(answer?.status).toBe(401);
  });

  test('deeply nested JSON causes no internal error', async () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    for (const path of [`/http://${host}/x`, '/-/nothing', '/-/drain']) {
      const fields = `Host: x\r\nContent-Type: application/json\r\nConnection: close\r\n`;
      const text = `POST ${path} HTTP/1.1\r\n${fields}Content-Length: ${deep.length}\r\n\r\n${deep}`;
      const [answer] = await rawExchange(edge.url, text);
      expect(answer?.status ?? 400).toBeLessThan(500);
    }
    expect(edge.log.join()).not.toMatch(/internal error/);
    await isWell();
  });

  test('a request with long lists in Range, Via and If-None-Match is refused', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `"${i}"`).join(', ');
    const headers = {
      range: `bytes=${Array.from({ length: 1000 }, (_, i) => `${i * 2}-${i * 2}`).join(',')}`,
      via: many,
      'if-none-match': many,
    };
    expect((await fetchAll(`${edge.url}/http://${host}/well`, { headers })).status).toBe(416);
    await isWell();
  });
});

describe('cache-key confusion', () => {
  /** Name of the case, target at the edge, and the path that the edge must ask the origin for. */
  const same: [string, string, string][] = [
    ['dot segments', '/a/../b/./c', '/b/c'],
    ['encoded dot segments', '/a/%2e%2e/b/%2E/c', '/b/c'],
    ['dot segments above the root', '/../../b/c', '/b/c'],
    ['half encoded dot segments', '/a/.%2e/b/c', '/b/c'],
    ['doubly encoded dots', '/a/%252e%252e/b', '/a/%252e%252e/b'],
    ['encoded slashes', '/a%2Fb', '/a%2Fb'],
    ['encoded slashes with dots', '/a/..%2fb', '/a/..%2fb'],
    ['slashes, doubled', '/a//b', '/a//b'],
    ['backslashes', '/a\\..\\b', '/a%5C..%5Cb'],
    ['encoded backslashes', '/a%5c..%5cb', '/a%5c..%5cb'],
    ['an encoded letter', '/%61', '/%61'],
    ['upper and lower case', '/A', '/A'],
    ['percent-encoding in lower case', '/%c3%a9', '/%c3%a9'],
    ['percent-encoding in upper case', '/%C3%A9', '/%C3%A9'],
    ['a query', '/a?b', '/a?b'],
    ['an empty query', '/a?', '/a?'],
    ['an encoded question mark', '/a%3fb', '/a%3fb'],
    ['a query in another order', '/a?y=2&x=1', '/a?y=2&x=1'],
    ['the same query', '/a?x=1&y=2', '/a?x=1&y=2'],
    ['dots in a query', '/a?x=../../b', '/a?x=../../b'],
    ['an encoded fragment', '/a%23b', '/a%23b'],
    ['a parameter', '/a;b', '/a;b'],
    ['a NUL', '/a%00', '/a%00'],
    ['the name of a chunk', '/a,start=0,end=65535,v=e.x', '/a,start=0,end=65535,v=e.x'],
    ['the name of a private file', '/private%20http://x', '/private%20http://x'],
    ['a plus', '/a+b', '/a+b'],
    ['an encoded space', '/a%20b', '/a%20b'],
    ['a broken escape', '/a%zz', '/a%zz'],
    ['another edge inside', `/http://${host}/b`, `/http://${host}/b`],
  ];

  test('two resources never share an entry, and each is what the origin has', async () => {
    // Twice: a cached entry of one resource must not answer another.
    for (let round = 0; round < 2; round++) {
      for (const [what, target, asked] of same) {
        const got = await fetchAll(`${edge.url}/http://${host}${target}`);
        expect([what, got.status, got.digest]).toEqual([what, 200, origin.digest(asked)]);
      }
    }
    // The second round came from the cache: one request for each resource.
    expect([...origin.targets].sort()).toEqual(
      [...new Set(same.map(([, , asked]) => asked))].sort(),
    );
  });

  test('a URL with a fragment or credentials is refused: it would be another name for a file', async () => {
    for (const target of [
      `http://${host}/a#b`,
      `http://user@${host}/a`,
      `http://:p@${host}/a`,
      `user@${host}/a`,
    ]) {
      const [answer] = await rawExchange(edge.url, `GET /${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect([target, answer?.status]).toEqual([target, 400]);
    }
    expect(origin.targets).toEqual([]);
  });

  test('spellings of a host are one name, and other hosts have names of their own', async () => {
    const { port } = origin;
    const here = `localhost:${port}`;
    for (const name of [
      'localhost',
      'LOCALHOST',
      'LocalHost',
      'localhost.',
      '%6cocalhost',
      'ｌｏｃａｌｈｏｓｔ',
    ]) {
      const got = await fetchAll(
        `${edge.url}/http://${encodeURI(name).replace('%256c', '%6c')}:${port}/host`,
      );
      expect([name, got.status, got.digest]).toEqual([name, 200, origin.digest('/host', here)]);
    }
    for (const name of ['127.0.0.1', '0x7f.1', '2130706433', '127.0.0.1.']) {
      const got = await fetchAll(`${edge.url}/http://${name}:${port}/host`);
      expect([name, got.digest]).toEqual([name, origin.digest('/host')]);
    }
    expect(origin.targets).toEqual(['/host', '/host']);
  });

  test('a host with more than one dot at its end is not another name for it', async () => {
    for (const name of ['localhost..', '.localhost', 'local..host']) {
      const got = await fetchAll(`${edge.url}/http://${name}:${origin.port}/host`);
      expect([name, got.status]).toEqual([name, 400]);
    }
  });

  test('fields of the client are not part of the name, and do not reach the origin', async () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-original-url': '/evil',
    };
    const got = await fetchAll(`${edge.url}/http://${host}/fields`, { headers });
    expect(got.digest).toBe(origin.digest('/fields'));
    expect((await fetchAll(`${edge.url}/http://${host}/fields`)).headers['cache-status']).toMatch(
      /; hit/,
    );
  });
});

describe('an allowed folder of an origin', () => {
  test('cannot be left by any spelling of the path', async () => {
    const narrow = await EdgeProcess.start(['--allow-origin', `${host}/pub`]);
    try {
      expect((await fetchAll(`${narrow.url}/http://${host}/pub/a%2fb`)).digest).toBe(
        origin.digest('/pub/a%2fb'),
      );
      origin.targets.length = 0;
      const spellings = [
        '/secret',
        '/pub/../secret',
        '/pub/%2e%2e/secret',
        '/pub/..%2fsecret',
        '/pub/..%2Fsecret',
        '/pub/%2e%2e%2fsecret',
        '/pub/..%5csecret',
        '/pub/..\\secret',
        '/pub/..%252fsecret',
        '/pub/%252e%252e/secret',
        '/pub/%252e%252e%252fsecret',
        '/pub/..;/secret',
        '/pub/..;x=1/secret',
        '/pub/..%c0%afsecret',
        '/pub/%c0%ae%c0%ae/secret',
        '/pub//..%2f..%2fsecret',
        '//secret',
        '/%70ub/../secret',
        '/PUB/x',
        '/pub%2f..%2fsecret',
        '/pub/%25252525252e',
        '/public',
      ];
      for (const path of spellings) {
        const got = await fetchAll(`${narrow.url}/http://${host}${path}`);
        expect([path, got.status, JSON.parse(got.body.toString()).code]).toEqual([
          path,
          403,
          'origin-not-allowed',
        ]);
      }
      expect(origin.targets).toEqual([]);
    } finally {
      await narrow.stop('SIGKILL');
    }
  });
});
