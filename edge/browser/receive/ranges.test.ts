/** Answers of servers, right and wrong, and the bytes that the page takes of them, over real sockets. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import type { Failure } from './failure.js';
import { fetchRange, fetchText } from './ranges.js';

const BODY = Buffer.from('0123456789abcdefghij');
let answer: RequestListener = () => {};
const server = createServer((req, res) => answer(req, res)).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const { signal } = new AbortController();

/** Reads bytes 5 to 9. @returns their text, or the kind of the failure; and the bytes counted */
async function read(answers: RequestListener, at = 5): Promise<[string, number]> {
  answer = answers;
  let came = 0;
  const source = { url, at, expires: undefined };
  try {
    const onBytes = (more: number) => {
      came += more;
    };
    const bytes = await fetchRange(source, 5, signal, onBytes, () => {});
    return [Buffer.from(bytes).toString(), came];
  } catch (error) {
    return [(error as Failure).kind, came];
  }
}

test('a range is asked for, without cookies and without saying from where', async () => {
  const got = await read(({ headers }, res) => {
    expect(headers.range).toBe('bytes=5-9');
    for (const name of ['cookie', 'referer', 'authorization']) {
      expect(headers[name]).toBeUndefined();
    }
    res.writeHead(206, { 'content-range': 'bytes 5-9/20' }).end(BODY.subarray(5, 10));
  });
  expect(got).toEqual(['56789', 5]);
});

test('of an answer that is too long no more is read than was asked for', async () => {
  expect(await read((_req, res) => void res.writeHead(206).end(BODY.subarray(5)))).toEqual([
    '56789',
    5,
  ]);
  // A server without ranges sends the file from its beginning, which is of use there only.
  expect(await read((_req, res) => void res.end(BODY), 0)).toEqual(['01234', 5]);
  expect(await read((_req, res) => void res.end(BODY), 5)).toEqual(['unreachable', 0]);
});

test('an answer that is too short is none', async () => {
  expect(await read((_req, res) => void res.writeHead(206).end('567'))).toEqual(['unreachable', 3]);
  const cut: RequestListener = (_req, res) => {
    res.writeHead(206, { 'content-length': '5' });
    res.write('567', () => res.destroy());
  };
  expect((await read(cut))[0]).toBe('unreachable');
});

test.each([
  [404, '', 'revoked'],
  [410, '', 'expired'],
  [451, '', 'blocked'],
  [429, '', 'busy'],
  [503, '', 'busy'],
  [500, '', 'unreachable'],
  [502, '{"code": "allocation-damaged"}', 'damaged'],
])('status %i, with the problem %j, tells what the file is: %s', async (status, text, kind) => {
  const headers = { 'content-type': 'application/problem+json' };
  const answers: RequestListener = (_req, res) => void res.writeHead(status, headers).end(text);
  expect(await read(answers)).toEqual([kind, 0]);
  answer = answers;
  if (status !== 502) await expect(fetchText(url, 10, signal)).rejects.toMatchObject({ kind });
});

test('a document has a bounded length', async () => {
  answer = (_req, res) => void res.end(BODY);
  expect(await fetchText(url, 20, signal)).toBe(BODY.toString());
  await expect(fetchText(url, 19, signal)).rejects.toMatchObject({ kind: 'bad-exnode' });
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  await expect(fetchText(url, 20, signal)).rejects.toMatchObject({ kind: 'unreachable' });
});
