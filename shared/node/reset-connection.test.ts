import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { resetConnection } from './reset-connection.ts';

const open: { destroy?(): void; close?(): void }[] = [];

afterEach(() => {
  for (const one of open.splice(0)) {
    one.destroy?.();
    one.close?.();
  }
});

/** Connects to a server of this process. @returns both ends */
async function pair(): Promise<{ server: Socket; client: Socket }> {
  const listener = createServer({ allowHalfOpen: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [server] = (await once(listener, 'connection')) as [Socket];
  open.push(client, server, listener);
  server.on('error', () => {});
  return { server, client };
}

/** Resolves with what the other end of a connection sees last. */
function seenBy(client: Socket): Promise<string> {
  return new Promise((resolve) => {
    client.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    client.on('close', () => resolve('closed'));
    client.resume();
  });
}

type Moment = (server: Socket, reset: () => void) => void;

/** Ways in which a connection can be in use when it is reset. */
const IN_USE: Readonly<Record<string, Moment>> = {
  'that is open': (_server, reset) => reset(),
  'with bytes to send': (server, reset) => {
    server.write(Buffer.alloc(64 * 1024 * 1024));
    reset();
  },
  'that has just been ended, behind bytes that are not taken': (server, reset) => {
    server.end(Buffer.alloc(64 * 1024 * 1024));
    reset();
  },
};

/** Ways in which it can be ending. */
const ENDING: Readonly<Record<string, Moment>> = {
  'that has just been ended': (server, reset) => {
    server.end('the last bytes');
    reset();
  },
  'whose shutdown is under way': (server, reset) => {
    server.end('the last bytes');
    process.nextTick(() => process.nextTick(reset));
  },
  'that has been shut down': (server, reset) => {
    server.end('the last bytes');
    server.once('finish', () => setImmediate(reset));
  },
};

async function resetAt(moment: Moment) {
  const { server, client } = await pair();
  const errors: unknown[] = [];
  server.on('error', (error) => errors.push(error));
  const seen = seenBy(client);
  const closed = once(server, 'close');
  moment(server, () => resetConnection(server));
  await closed;
  expect(errors).toEqual([]);
  return { seen };
}

describe('resetConnection', () => {
  test.each(Object.entries(IN_USE))('the client of a connection %s sees a reset', async (_, at) => {
    const { seen } = await resetAt(at);
    expect(await seen).toBe('ECONNRESET');
  });

  // The client has got everything and a FIN: the descriptor is what matters.
  test.each(Object.entries(ENDING))('closes a connection %s', async (_, at) => {
    await resetAt(at);
  });

  test('does nothing to a connection that is closed, or to none', async () => {
    const { server } = await pair();
    server.destroy();
    await once(server, 'close');
    resetConnection(server);
    resetConnection(null);
    resetConnection(undefined);
  });
});
