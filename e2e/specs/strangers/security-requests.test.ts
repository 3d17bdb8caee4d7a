/** Attacks with requests: smuggling and oversize. */

import { describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { rawConnect, rawExchange } from '../../fixtures/clients/raw-client.ts';
import { echoStage, TOKEN } from '../../fixtures/stages/echo-stage.ts';
import { until } from '../../fixtures/until.ts';

const { edge, origin, isWell } = await echoStage();
const { host } = origin;

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
    const fields = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`;
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

  test('a request with long lists in Range, Via and If-None-Match gets the whole file', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `"${i}"`).join(', ');
    const headers = {
      range: `bytes=${Array.from({ length: 1000 }, (_, i) => `${i * 2}-${i * 2}`).join(',')}`,
      via: many,
      'if-none-match': many,
    };
    const got = await fetchAll(`${edge.url}/http://${host}/well`, { headers });
    expect([got.status, got.digest]).toEqual([200, origin.digest('/well')]);
    await isWell();
  });
});
