import { describe, expect, test } from '@jest/globals';
import { RequestBodies } from './request-bodies.ts';

const LIMITS = { one: 10, all: 25 };

async function* pieces(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

/** Makes a body that sends a piece at once, and ends when told to. */
function held(text: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(text);
    await promise;
  }
  return { body: body(), end: resolve };
}

describe('bodies of requests', () => {
  test('are joined, even if a character is cut', async () => {
    const euro = Buffer.from('€');
    async function* cut() {
      yield euro.subarray(0, 1);
      yield euro.subarray(1);
    }
    const bodies = new RequestBodies(LIMITS);
    expect(await bodies.read(cut())).toEqual({ text: '€' });
    expect(await bodies.read(pieces())).toEqual({ text: '' });
  });

  test('have a limit each', async () => {
    const bodies = new RequestBodies(LIMITS);
    expect(await bodies.read(pieces('12345', '67890'))).toEqual({ text: '1234567890' });
    expect(await bodies.read(pieces('12345', '67890', '1'))).toEqual({ refused: 'too-long' });
  });

  test('have a limit together, and free their bytes however they end', async () => {
    const bodies = new RequestBodies(LIMITS);
    const first = [held('1234567890'), held('1234567890')];
    const reading = first.map(({ body }) => bodies.read(body));
    expect(await bodies.read(pieces('12345'))).toEqual({ text: '12345' });
    expect(await bodies.read(pieces('123456'))).toEqual({ refused: 'too-many' });
    expect(await bodies.read(pieces('12345', '678901'))).toEqual({ refused: 'too-long' });
    expect(await bodies.read(pieces('12345'))).toEqual({ text: '12345' });
    for (const { end } of first) end();
    expect(await Promise.all(reading)).toEqual([{ text: '1234567890' }, { text: '1234567890' }]);
    expect(await bodies.read(pieces('1234567890'))).toEqual({ text: '1234567890' });
  });

  test('of clients that disconnect free their bytes', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from('1234567890');
      throw new Error('reset');
    }
    const bodies = new RequestBodies(LIMITS);
    for (let i = 0; i < 5; i++) await bodies.read(broken());
    expect(await bodies.read(pieces('12345'))).toEqual({ text: '12345' });
  });
});
