/** Request lines in pieces: the server reads each piece before the next is sent. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { handleClientErrors } from './client-errors.ts';

const asked: string[] = [];
const server = createServer((req, res) => {
  asked.push(`${req.method} ${req.url}`);
  req.resume().on('end', () => res.end('ok'));
});
handleClientErrors(server);
await once(server.listen(0, '127.0.0.1'), 'listening');

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends each piece as a packet. @returns statuses received when the server ends the connection */
async function answersTo(pieces: readonly string[]): Promise<string> {
  asked.length = 0;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  const [socket] = await accepted;
  let answer = '';
  client.setNoDelay(true).setEncoding('latin1');
  client.on('data', (data) => {
    answer += data;
  });
  const closed = once(client, 'close');
  let sent = 0;
  for (const piece of pieces) {
    sent += piece.length;
    client.write(piece, 'latin1');
    while (socket.bytesRead < sent && !socket.destroyed) await new Promise(setImmediate);
  }
  await closed;
  return (answer.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => line.slice(-3)).join();
}

const END = ' HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n';

test.each([
  ['whose beginning came before', ['GET /caf', `\xe9${END}`], '200', ['GET /caf%E9']],
  ['in single bytes', [...`GET /\xc3\xa9${END}`], '200', ['GET /%C3%A9']],
  ['behind empty lines', ['\r\n', 'GET /', `\xe9${END}`], '200', ['GET /%E9']],
  [
    'behind a request on the same connection',
    [`GET /a${END}`, 'GET /', `\xe9${END}`],
    '200,200',
    ['GET /a', 'GET /%E9'],
  ],
  [
    'behind a request that ended in the packet in which it began',
    [`GET /a${END}GET /caf`, `\xe9${END}`],
    '200,200',
    ['GET /a', 'GET /caf%E9'],
  ],
  [
    'behind a request of which only the last byte came in that packet',
    [`GET /a${END.slice(0, -1)}`, '\nGET /caf', 'e', `\xe9${END}`],
    '200,200',
    ['GET /a', 'GET /cafe%E9'],
  ],
  [
    'behind empty lines in that packet',
    [`GET /a${END}\r\n\r\nGE`, 'T /', `\xe9${END}`],
    '200,200',
    ['GET /a', 'GET /%E9'],
  ],
  [
    'behind several requests in that packet',
    [`GET /a${END}GET /b${END}GET /`, `\xe9${END}`],
    '200,200,200',
    ['GET /a', 'GET /b', 'GET /%E9'],
  ],
  [
    'behind a body in pieces',
    [POST, 'GE', 'T ', 'GET /', `\xe9${END}`],
    '200,200',
    ['POST /p', 'GET /%E9'],
  ],
] as [string, string[], string, string[]][])(
  'a raw byte in a later packet than the beginning, %s, is served',
  async (_, pieces, statuses, targets) => {
    expect(await answersTo(pieces)).toBe(statuses);
    expect(asked).toEqual(targets);
  },
);

test.each([
  ['is in a field', ['GET / HTTP/1.1\r\nX: y\r\n', `\xe9${END}`], '400'],
  ['is in the method', ['G', `\xe9T /${END}`], '400'],
  ['follows a body that ended within a packet', [`${POST}bodyGET /caf`, `\xe9${END}`], '200,400'],
  ['is in a field that began there', [`GET /a${END}GET / HTTP/1.1\r\nX`, `\xe9${END}`], '200,400'],
  ['is in a method that began there', [`GET /a${END}G`, `\xe9T /${END}`], '200,400'],
  [
    'follows a target, as of another request, in a field that began there',
    [`GET /a${END}GET /b HTTP/1.1\r\nGET /caf`, `\xe9${END}`],
    '200,400',
  ],
] as [string, string[], string][])('a raw byte that %s is refused', async (_, pieces, statuses) => {
  expect(await answersTo(pieces)).toBe(statuses);
});
