import type { LookupAddress, lookup } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { httpGet } from '@millrace/shared/node/http-get';
import { RangeClient } from '@millrace/shared/node/range-client';
import { Agent } from 'undici';
import { checkLiteral, publicLookup } from './public-address.ts';

const refused = expect.objectContaining({ code: 'private-address' });

/** A resolver that answers with these addresses. */
function resolving(...addresses: string[]) {
  const asked: object[] = [];
  const resolve = (_host: string, options: object, callback: (...args: unknown[]) => void) => {
    asked.push(options);
    const found = addresses.map(
      (address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
    );
    callback(null, found);
  };
  return { asked, lookup: publicLookup(resolve as unknown as typeof lookup) };
}

/** Result of a socket's lookup. */
function resolved(look: ReturnType<typeof publicLookup>, options = {}): Promise<unknown[]> {
  return new Promise((resolve) => {
    look('host.example', options, (...result: unknown[]) => resolve(result));
  });
}

describe('public addresses', () => {
  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://a.localhost:8080/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http://%31%32%37.0.0.1/',
    'http://１２７.０.０.１/',
    'http://0/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0xa9fea9fe/',
    'http://2852039166/',
    'http://10.1/',
    'http://192.168.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::FFFF:169.254.169.254]/',
    'http://[2002:7f00:1::]/',
    'http://[64:ff9b::169.254.169.254]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ])('%s is refused before anything is looked up', (url) => {
    expect(() => checkLiteral(new URL(url))).toThrow(refused);
  });

  test.each([
    'http://8.8.8.8/',
    'http://[2606:4700::1111]/',
    'http://example.com/',
    'http://localhost.example/',
    'http://notlocalhost/',
  ])('%s is left to the lookup or public', (url) => {
    expect(() => checkLiteral(new URL(url))).not.toThrow();
  });

  test('only the public addresses of a name are connected to', async () => {
    const { lookup: look, asked } = resolving('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1111');
    expect(await resolved(look, { all: true })).toEqual([
      null,
      [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
    ]);
    expect(await resolved(look, { family: 4 })).toEqual([null, '8.8.8.8', 4]);
    expect(asked).toEqual([{ all: true }, { family: 4, all: true }]);
  });

  test.each([
    ['private addresses only', ['127.0.0.1', '169.254.169.254', 'fd00::1']],
    ['no address', []],
  ])('a name with %s is not connected to', async (_, addresses) => {
    for (const options of [{}, { all: true }]) {
      const [error] = await resolved(resolving(...addresses).lookup, options);
      expect(error).toEqual(refused);
    }
  });

  test('DNS rebinding: a connection goes only to addresses that were resolved and checked for it', async () => {
    let connections = 0;
    const inside = createServer(() => connections++).listen(0, '127.0.0.1');
    await once(inside, 'listening');
    const { port } = inside.address() as AddressInfo;
    // Public at the check, private at the connection; and both at once.
    const answers = [['8.8.8.8'], ['127.0.0.1'], ['::1', '127.0.0.1'], ['::ffff:127.0.0.1']];
    let asked = 0;
    const resolve = (_host: string, _options: object, callback: (...args: unknown[]) => void) => {
      const found = answers[asked++] ?? ['127.0.0.1'];
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    };
    const look = publicLookup(resolve as unknown as typeof lookup);
    expect(await resolved(look)).toEqual([null, '8.8.8.8', 4]);
    const timeouts = { connections: 1, timeoutMs: 5000, connectTimeoutMs: 5000 };
    const ranges = new RangeClient({ ...timeouts, lookup: look });
    const agent = new Agent({ connect: { lookup: look } });
    const url = new URL(`http://rebinding.example:${port}/x`);
    const { signal } = new AbortController();
    await expect(ranges.open(url, {}, signal, {})).rejects.toEqual(refused);
    await expect(httpGet(agent, url, {}, signal)).rejects.toEqual(refused);
    await expect(httpGet(agent, url, {}, signal)).rejects.toEqual(refused);
    expect([asked, connections]).toEqual([4, 0]);
    ranges.close();
    await agent.destroy();
    inside.close();
  });

  test('a name that cannot be resolved fails as it does elsewhere', async () => {
    const failure = new Error('ENOTFOUND');
    const resolve = (_host: string, _options: object, callback: (error: Error) => void) =>
      callback(failure);
    const look = publicLookup(resolve as unknown as typeof lookup);
    expect((await resolved(look))[0]).toBe(failure);
  });
});
