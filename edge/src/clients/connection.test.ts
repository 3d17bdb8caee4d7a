import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, constants, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { isComplete, onStall, resetResponse, setPatience } from './connection.ts';

const BYTES = 2 ** 20;
/** Longer than any test. */
const NEVER_MS = 600_000;

test('a stream of HTTP/2 whose client takes nothing stalls again and again; it alone is cut off', async () => {
  const stalled: string[] = [];
  const complete = new Map<string, boolean>();
  const server = createServer((request, response) => {
    const [req, res] = [request, response] as unknown as [IncomingMessage, ServerResponse];
    const path = request.url;
    res.on('close', () => complete.set(path, isComplete(res)));
    const isSlow = path === '/slow';
    onStall(
      req,
      res,
      () => 5,
      () => {
        stalled.push(path);
        if (stalled.length === 3) resetResponse(res);
      },
    );
    // A request that makes good progress gets more time.
    if (!isSlow) setPatience(req, res, NEVER_MS);
    res.end(Buffer.alloc(BYTES));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const session = connect(`http://127.0.0.1:${port}`);
  // The client reads nothing, so its window never opens again.
  const slow = session.request({ ':path': '/slow' });
  const [error] = (await once(slow, 'error')) as [Error & { code: string }];
  expect([error.code, slow.rstCode]).toEqual([
    'ERR_HTTP2_STREAM_ERROR',
    constants.NGHTTP2_INTERNAL_ERROR,
  ]);
  expect(stalled).toEqual(['/slow', '/slow', '/slow']);

  const good = session.request({ ':path': '/good' });
  let bytes = 0;
  for await (const data of good) bytes += (data as Buffer).length;
  expect([bytes, good.rstCode]).toEqual([BYTES, 0]);
  expect(complete.get('/slow')).toBe(false);
  session.close();
  await new Promise((resolve) => server.close(resolve));
});
