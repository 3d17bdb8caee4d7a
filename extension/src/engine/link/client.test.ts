import { expect, test } from '@jest/globals';
import type { EngineMessage, EngineRequest } from '../../contract/protocol.ts';
import { EngineClient } from './client.ts';
import type { EngineHost, LinkOptions } from './link.ts';

/** Engine that answers when the test orders it, over the latest connection. */
class HeldEngine implements EngineHost {
  readonly asked: EngineRequest[] = [];
  #background: LinkOptions | undefined;

  async runs(): Promise<boolean> {
    return true;
  }

  async connect(options: LinkOptions) {
    this.#background = options;
    return { send: (request: EngineRequest) => void this.asked.push(request) };
  }

  answer(asked: EngineRequest | undefined, more: { result: object } | { failed: never }): void {
    this.#background?.onMessage({ id: asked?.id ?? '', ...more } as EngineMessage);
  }
}

const rest = () => new Promise((resolve) => setImmediate(resolve));

test('an answer to an ended background is not taken for one to its successor’s call', async () => {
  const engine = new HeldEngine();
  const ended = new EngineClient(engine, () => {});
  void ended.call({ type: 'withdraw', handOff: 'a' });
  await rest();
  const next = new EngineClient(engine, () => {});
  let taken: unknown;
  const commit = next.call({ type: 'commit', handOff: 'b' }).then((result) => {
    taken = result;
  });
  await rest();
  engine.answer(engine.asked[0], { result: {} });
  await rest();
  expect(taken).toBeUndefined();
  engine.answer(engine.asked[1], { result: { id: 'b' } });
  await commit;
  expect(taken).toEqual({ id: 'b' });
});

test('waiting calls fail when the engine ends, and the next call starts it again', async () => {
  let link: LinkOptions | undefined;
  let starts = 0;
  const host: EngineHost = {
    runs: async () => false,
    connect: async (options) => {
      link = options;
      starts++;
      return { send: () => {} };
    },
  };
  const client = new EngineClient(host, () => {});
  const listed = client.call({ type: 'list' });
  await rest();
  link?.onEnd();
  await expect(listed).rejects.toMatchObject({ problem: 'lost' });
  void client.call({ type: 'list' });
  await rest();
  expect(starts).toBe(2);
});
