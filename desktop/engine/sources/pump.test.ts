import { describe, expect, test } from '@jest/globals';
import type { HttpStream } from '@millrace/shared/node/http-client';
import type { TakePiece } from '@millrace/shared/node/piece-reader';
import { pump } from './pump.ts';

/** A body whose pieces the test sends, as many at a time as it likes. */
function body() {
  const ended = Promise.withResolvers<void>();
  let take: TakePiece | undefined;
  const state = { resumed: 0, discarded: false };
  const response = {
    pipe(given: TakePiece) {
      take = given;
      return ended.promise;
    },
    discard() {
      state.discarded = true;
      ended.reject(new Error('given up'));
    },
  } as unknown as HttpStream;
  /** Sends a piece, whose memory is used for something else afterwards. */
  const send = (text: string) => {
    const piece = Buffer.from(text);
    const goesOn = take?.(piece, () => state.resumed++);
    piece.fill('?');
    return goesOn;
  };
  return { response, send, end: ended.resolve, state };
}

describe('a pump', () => {
  test('gives the pieces of one read one after the other, and goes on when all are taken', async () => {
    const { response, send, end, state } = body();
    const begun: string[] = [];
    const waits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const pumped = pump(response, (piece) => {
      begun.push(piece.toString());
      return waits[begun.length - 1]?.promise;
    });
    expect([send('a'), send('b'), send('c')]).toEqual([false, false, false]);
    expect(begun).toEqual(['a']);
    end();
    waits[0]?.resolve();
    await new Promise(setImmediate);
    expect([begun, state.resumed]).toEqual([['a', 'b'], 0]);
    waits[1]?.resolve();
    await pumped;
    expect([begun, state.resumed]).toEqual([['a', 'b', 'c'], 1]);
  });

  test('tells that the last piece could not be taken, although the body had ended', async () => {
    const { response, send, end } = body();
    const last = Promise.withResolvers<void>();
    const pumped = pump(response, () => last.promise);
    send('a');
    end();
    await new Promise(setImmediate);
    const full = new Error('the disk is full');
    last.reject(full);
    await expect(pumped).rejects.toBe(full);
  });

  test('gives no further piece once one could not be taken', async () => {
    const { response, send, state } = body();
    const begun: string[] = [];
    const full = new Error('the disk is full');
    const pumped = pump(response, async (piece) => {
      begun.push(piece.toString());
      throw full;
    });
    send('a');
    send('b');
    await expect(pumped).rejects.toBe(full);
    expect([begun, state.discarded]).toEqual([['a'], true]);
  });
});
