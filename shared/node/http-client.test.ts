import { describe, expect, jest, test } from '@jest/globals';
import { resetConnection } from './reset-connection.ts';
import { forEver, HELLO, HttpClientStage, OK, read, text } from './testing/http-client-stage.ts';

const stage = new HttpClientStage();

describe('HttpClient', () => {
  test('returns the header before the body, with the URL and times of the request', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(1000);
    const served = await stage.serve((socket) => {
      clock.mockReturnValue(1070);
      socket.write(HELLO);
    });
    const response = await stage.client().get(served.url, { range: 'bytes=0-4' }, forEver);
    expect([response.status, response.headers.etag]).toEqual([200, '"a"']);
    expect(response.url).toBe(served.url);
    expect([response.requestedAt, response.arrivedAt]).toEqual([1000, 1070]);
    const { host } = served.url;
    expect(served.heads).toEqual([
      `GET /f?x=1 HTTP/1.1\r\nHost: ${host}\r\nrange: bytes=0-4\r\n\r\n`,
    ]);
    expect((await read(response)).toString()).toBe('hello');
  });

  test('interim answers are skipped, but not for ever', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
    const served = await stage.serve((socket) => socket.write(hints + hints + HELLO));
    expect(await text(stage.client(), served)).toBe('hello');
    const endless = await stage.serve((socket) => {
      const more = () => socket.destroyed || socket.write(hints, () => setImmediate(more));
      more();
    });
    const got = stage.client(50).get(endless.url, {}, forEver);
    await expect(got).rejects.toMatchObject({ code: 'origin-timeout' });
  });

  test.each([
    ['does not answer', ''],
    ['stops in the header', OK],
    ['stops in the body', `${OK}Content-Length: 5\r\n\r\nhell`],
  ])('a request to a server that %s times out', async (_, sent) => {
    const served = await stage.serve((socket) => sent !== '' && socket.write(sent));
    await expect(text(stage.client(50), served)).rejects.toMatchObject({ code: 'origin-timeout' });
  });

  test('successive requests use one connection, and a closed connection is replaced', async () => {
    const served = await stage.serve((socket, all) => {
      if (all === 2) resetConnection(socket);
      else socket.write(HELLO);
    });
    const from = stage.client();
    for (let i = 0; i < 3; i++) expect(await text(from, served)).toBe('hello');
    expect([served.connections, served.heads.length]).toEqual([2, 4]);
  });

  test('an error that the receiver throws ends the exchange', async () => {
    const served = await stage.serve((socket) => socket.write(HELLO));
    const response = await stage.client().get(served.url, {}, forEver);
    const reading = response.pipe(() => {
      throw new Error('no room');
    });
    await expect(reading).rejects.toThrow('no room');
    await stage.allGone();
  });

  test('a body can be discarded before and while it is read', async () => {
    const served = await stage.serve((socket) => socket.write(`${OK}Content-Length: 9\r\n\r\nabc`));
    const from = stage.client();
    (await from.get(served.url, {}, forEver)).discard();
    const response = await from.get(served.url, {}, forEver);
    const reading = response.pipe(() => {
      response.discard();
      return true;
    });
    await expect(reading).rejects.toMatchObject({ code: 'origin-reset' });
    await stage.allGone();
    expect(served.connections).toBe(2);
  });

  test.each(['', OK, `${OK}Content-Length: 9\r\n\r\nabc`])(
    'the signal ends an exchange that has received %j',
    async (sent) => {
      const abort = new AbortController();
      const served = await stage.serve((socket) => {
        if (sent !== '') socket.write(sent);
        setImmediate(() => abort.abort(new Error('enough')));
      });
      const from = stage.client();
      const got = from.get(served.url, {}, abort.signal).then(read);
      await expect(got).rejects.toThrow('enough');
      await stage.allGone();
      await expect(from.get(served.url, {}, abort.signal)).rejects.toThrow('enough');
    },
  );

  test('a server that does not exist is reported as unreachable', async () => {
    const served = await stage.serve(() => {});
    stage.close();
    const got = stage.client().get(served.url, {}, forEver);
    await expect(got).rejects.toMatchObject({ code: 'origin-unreachable' });
  });

  test.each([
    ['bad value', { range: 'a\r\nEvil: 1' }],
    ['bad name', { 'Evil: 1\r\nX': 'y' }],
    ['body to announce', { 'Content-Length': '5' }],
    ['coding to announce', { 'transfer-encoding': 'chunked' }],
  ])('a header field with a %s is not sent', async (_, headers) => {
    const served = await stage.serve((socket) => socket.write(HELLO));
    await expect(stage.client().get(served.url, headers, forEver)).rejects.toMatchObject({
      code: 'bad-option',
    });
    expect(served.heads).toEqual([]);
  });

  test('a Host of the caller replaces that of the URL', async () => {
    const served = await stage.serve((socket) => socket.write(HELLO));
    const own = await stage.client().get(served.url, { Host: 'example.com' }, forEver);
    expect((await read(own)).toString()).toBe('hello');
    expect(served.heads[0]).toMatch(/^host: example\.com\r$/im);
    expect(served.heads[0]?.match(/^host:/gim)).toHaveLength(1);
  });
});
