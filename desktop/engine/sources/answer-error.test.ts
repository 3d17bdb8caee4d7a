import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { PROBLEM_TYPE, toProblem } from '@millrace/shared/http/answers/problem';
import type { HttpStream } from '@millrace/shared/node/http-client';
import { answerError } from './answer-error.ts';

function answer(status: number, body: string, type = PROBLEM_TYPE): HttpStream {
  return {
    ...{ status, url: new URL('https://example.com/x'), headers: { 'content-type': type } },
    ...{ requestedAt: 0, arrivedAt: 0, headMs: 0 },
    async pipe(take) {
      take(Buffer.from(body), () => {});
    },
    discard() {},
  };
}

const stated = (code: ErrorCode) => JSON.stringify(toProblem(new MillraceError(code)));
const told = async (response: HttpStream, isEdge: boolean) => {
  const { code, detail } = await answerError(response, isEdge);
  return [code, detail];
};

afterEach(() => {
  jest.useRealTimers();
});

describe('the error of an answer', () => {
  test('is the one that an edge states', async () => {
    const expired = answer(403, stated('link-expired'));
    expect((await answerError(expired, true)).code).toBe('link-expired');
  });

  test('says why a link that leads to an edge is refused, and means the same as any refusal', async () => {
    const expired = answer(403, stated('link-expired'));
    expect(await told(expired, false)).toEqual(['origin-denied', 'the link has expired']);
  });

  test('says nothing that a stranger has written', async () => {
    const plain = await told(answer(403, 'no', 'text/plain'), false);
    expect(plain).toEqual(['origin-denied', 'it answered 403']);
    const made = JSON.stringify({
      code: 'call 555-0100 now',
      title: 'x',
      reason: 'y',
      status: 403,
    });
    expect(await told(answer(403, made), false)).toEqual(plain);
    // Another status than that of the error which it names.
    expect(await told(answer(403, stated('disk-full')), false)).toEqual(plain);
    expect(await told(answer(403, 'x'.repeat(100_000)), false)).toEqual(plain);
  });

  test('is the one that an edge stated while this process was blocked', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const piped = Promise.withResolvers<() => void>();
    const ended = Promise.withResolvers<void>();
    const blocked: HttpStream = {
      ...answer(403, ''),
      discard: ended.reject,
      pipe(take) {
        piped.resolve(() => {
          take(Buffer.from(stated('link-expired')), () => {});
          ended.resolve();
        });
        return ended.promise;
      },
    };
    const error = told(blocked, true);
    const read = await piped.promise;
    // Timers come due before the bytes that arrived meanwhile are read.
    jest.advanceTimersByTime(5000);
    read();
    expect((await error)[0]).toBe('link-expired');
  });

  test('does not wait for words that never come to their end', async () => {
    jest.useFakeTimers();
    const ended = Promise.withResolvers<void>();
    const dripping = { ...answer(403, ''), pipe: () => ended.promise, discard: ended.reject };
    const error = told(dripping, false);
    await jest.advanceTimersByTimeAsync(5000);
    expect(await error).toEqual(['origin-denied', 'it answered 403']);
  });
});
