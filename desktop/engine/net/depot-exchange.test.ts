import { expect, test } from '@jest/globals';
import { MAX_INTERIM_ANSWERS } from '@millrace/shared/base/limits';
import { AnsweringServer } from '@millrace/shared/node/testing/answering-server';
import { exchange } from './depot-exchange.ts';

test('a depot that sends too many interim answers, and no answer, ends the exchange', async () => {
  const server = await AnsweringServer.start((socket) => {
    socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(MAX_INTERIM_ANSWERS + 1));
  });
  try {
    const url = `http://127.0.0.1:${server.port}/`;
    const { signal } = new AbortController();
    await expect(exchange({ method: 'HEAD', url, signal })).rejects.toMatchObject({
      code: 'malformed-response',
      detail: 'too many interim answers',
    });
  } finally {
    await server.stop();
  }
});
