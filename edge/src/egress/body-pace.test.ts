import { describe, expect, test } from '@jest/globals';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import { BodyPace } from './body-pace.ts';

/** An answer whose bytes come one by one at intervals, until all have come or it is abandoned. */
function dripping(intervalMs: number): HttpAnswer & { discards: number } {
  let fail: (error: Error) => void = () => {};
  const answer = {
    status: 206,
    headers: {},
    url: new URL('http://origin.test/'),
    requestedAt: 0,
    arrivedAt: 0,
    discards: 0,
    readInto: (into: Buffer, onBytes: (count: number) => void) =>
      new Promise<void>((resolve, reject) => {
        let came = 0;
        const timer = setInterval(() => {
          onBytes(1);
          if (++came < into.length) return;
          clearInterval(timer);
          resolve();
        }, intervalMs);
        fail = (error) => {
          clearInterval(timer);
          reject(error);
        };
      }),
    discard() {
      answer.discards++;
      fail(new Error('given up'));
    },
  };
  return answer;
}

describe('BodyPace', () => {
  test('a body that drips is given up although it is never silent', async () => {
    const pace = new BodyPace(400);
    const answer = dripping(20);
    const read = pace.readInto(answer, Buffer.alloc(1000), () => {});
    await expect(read).rejects.toMatchObject({
      code: 'origin-timeout',
      detail: 'less than 102.4 bytes came in 0.4 s',
    });
    expect([pace.tooSlow, answer.discards]).toEqual([true, 1]);
  });

  test('a body that ends within the first window is read, however slow it was', async () => {
    const pace = new BodyPace(60_000);
    const answer = dripping(5);
    await pace.readInto(answer, Buffer.alloc(3), () => {});
    expect([pace.tooSlow, answer.discards]).toEqual([false, 0]);
  });
});
