import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { resetConnection } from '@millrace/shared/node/reset-connection';
import { writeLoaned } from './loaned-write.ts';

const BYTES = Buffer.alloc(100_000, 'x');

/** Writes to the response of one request by `write`. @returns the results of the writes */
async function written(
  write: (res: ServerResponse, ends: Promise<unknown>[]) => void,
  client: (port: number) => void,
): Promise<unknown[]> {
  const answered = Promise.withResolvers<unknown[]>();
  const server = createServer((_req, res) => {
    const ends: Promise<unknown>[] = [];
    write(res, ends);
    answered.resolve(Promise.all(ends));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client((server.address() as AddressInfo).port);
  const results = await answered.promise;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return results;
}

function ask(port: number): void {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
}

function end(res: ServerResponse, ends: Promise<unknown>[]): void {
  ends.push(new Promise((resolve) => writeLoaned(res, BYTES, (error) => resolve(error?.message))));
}

test('a write ends without an error when the client has it', async () => {
  const write = (res: ServerResponse, ends: Promise<unknown>[]) => {
    end(res, ends);
    end(res, ends);
    res.end();
  };
  expect(await written(write, ask)).toEqual([undefined, undefined]);
});

test('a write to a connection that is destroyed but not closed yet ends', async () => {
  const write = (res: ServerResponse, ends: Promise<unknown>[]) => {
    end(res, ends);
    res.socket?.destroy();
    // Node would never call back for this one.
    end(res, ends);
  };
  const results = await written(write, ask);
  expect(results).toEqual([expect.any(String), 'Interrupted: client left']);
});

test('a write ends once, and not before Node has released the memory', async () => {
  const order: string[] = [];
  const write = (res: ServerResponse, ends: Promise<unknown>[]) => {
    ends.push(
      new Promise<void>((resolve) => {
        writeLoaned(res, BYTES, () => order.push('ended'));
        res.once('close', () => {
          order.push('closed');
          setImmediate(() => setImmediate(resolve));
        });
        resetConnection(res.socket);
        writeLoaned(res, BYTES, () => order.push('ended late'));
      }),
    );
  };
  await written(write, ask);
  expect(order.filter((what) => what === 'ended')).toHaveLength(1);
  expect(order.indexOf('ended late')).toBeGreaterThan(order.indexOf('closed'));
});

test('a write to a stream of HTTP/2 that is destroyed but not closed yet ends', async () => {
  const answered = Promise.withResolvers<unknown>();
  const server = createHttp2Server((_req, res) => {
    res.stream.destroy();
    const response = res as unknown as ServerResponse;
    writeLoaned(response, BYTES, (error) => answered.resolve(error?.message));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on('error', () => {});
  session.request({ ':path': '/' }).on('error', () => {});
  expect(await answered.promise).toMatch(/client left/);
  session.destroy();
  await new Promise((resolve) => server.close(resolve));
});
