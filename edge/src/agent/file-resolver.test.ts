import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { Purges } from '../cache/purges.ts';
import type { Network } from '../peers/network.ts';
import { FileResolver, type ResolverOptions } from './file-resolver.ts';

const DEMANDS = {
  revalidate: false,
  onlyIfCached: false,
  digest: undefined,
  maxAgeMs: undefined,
} as const;

/** A resolver that knows no file, and whom it has asked. */
function setUp(withNetwork: boolean) {
  const asked: string[] = [];
  const ask = (whom: string) => async () => {
    asked.push(whom);
    throw new MillraceError('origin-reset');
  };
  const network = {
    routeVersion: () => ({ to: 'peer' }),
    findVersion: ask('node'),
  } as unknown as Network;
  const resolver = new FileResolver({
    client: { open: ask('origin') },
    records: { pause: () => ({ check() {} }) },
    pointers: {
      load: async () => undefined,
      isDoubted: () => false,
      answer: () => undefined,
      drop() {},
    },
    passesAnswers: () => false,
    purges: new Purges(),
    streams: { find: () => undefined },
    clientOrigins: { admit() {} },
    network: withNetwork ? network : undefined,
    chunkBytes: 65_536,
    timeoutMs: 30_000,
    now: () => 0,
    wallClock: () => 0,
  } as unknown as ResolverOptions);
  return { resolver, asked };
}

describe.each([
  ['origin', false],
  ['node', true],
])('a request to be sent to the %s', (whom, withNetwork) => {
  const url = new URL('http://origin.example/file');

  test('that the client resets in the packet that brought it is never sent', async () => {
    const { resolver, asked } = setUp(withNetwork);
    const controller = new AbortController();
    const result = resolver.resolve(url, 'public', DEMANDS, controller.signal);
    // Everything that arrives in one packet is handled before the event loop's next turn.
    for (let i = 0; i < 20; i++) await Promise.resolve();
    controller.abort(new Error('reset'));
    await expect(result).rejects.toThrow('reset');
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toEqual([]);
  });

  test('that the client still wants is sent', async () => {
    const { resolver, asked } = setUp(withNetwork);
    const { signal } = new AbortController();
    await expect(resolver.resolve(url, 'public', DEMANDS, signal)).rejects.toMatchObject({
      code: 'origin-reset',
    });
    expect(asked).toEqual([whom]);
  });
});
