/**
 * Reading bodies from undici: however a body arrives and ends, either memory holds exactly the
 * bytes that came, or an error gives the reason.
 */

import { test } from '@jest/globals';
import fc from 'fast-check';
import { HttpResponse } from '../shared/node/http-response.ts';
import { isMillraceError } from '../shared/src/base/errors.ts';
import { hold, holdEqual } from './target.ts';

const CASES = 20_000;
const SEED = 20_261_123;
const BROKEN = new Error('the connection broke');

/** A response of undici: it sends until it is paused or aborted. */
class Sender {
  readonly #chunks: Buffer[];
  readonly #outcome: { readonly error?: unknown };
  readonly response: HttpResponse;
  #paused = false;
  #over = false;
  aborted = false;

  constructor(chunks: readonly Buffer[], outcome: { readonly error?: unknown }) {
    this.#chunks = [...chunks];
    this.#outcome = outcome;
    const url = new URL('http://host/');
    const times = { requestedAt: 0, arrivedAt: 0, headMs: 0 };
    const controller = this as never;
    this.response = new HttpResponse({
      method: 'GET',
      status: 200,
      headers: {},
      url,
      ...times,
      controller,
    });
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    queueMicrotask(() => this.#send());
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.#end({ error: reason });
  }

  #send(): void {
    while (!this.#paused && !this.#over) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined) return this.#end(this.#outcome);
      this.response.onData(chunk);
      // Exposes readers that keep a view of the chunk: they see other bytes now.
      chunk.fill('!');
    }
  }

  #end(outcome: { readonly error?: unknown }): void {
    if (this.#over) return;
    this.#over = true;
    this.response.onOutcome(outcome);
  }
}

const byte = fc.constantFrom('a', 'b', 'c');
const cases = fc.record({
  texts: fc.array(fc.string({ unit: byte, maxLength: 12 }), { maxLength: 6 }),
  /** Bytes of room in memory beyond the body's length. */
  more: fc.constantFrom(-3, -1, 0, 0, 0, 1, 5),
  breaks: fc.boolean(),
  piped: fc.boolean(),
  holds: fc.boolean(),
});

test(`HttpResponse holds for ${CASES} cases of seed ${SEED}`, async () => {
  const property = fc.asyncProperty(cases, async ({ texts, more, breaks, piped, holds }) => {
    const whole = texts.join('');
    const chunks = texts.map((text) => Buffer.from(text));
    const sender = new Sender(chunks, breaks ? { error: BROKEN } : {});
    const { response } = sender;
    // Foreign memory surrounds the room: four bytes on each side.
    const room = Math.max(0, whole.length + more);
    const memory = Buffer.alloc(room + 8, '#');
    let taken = '';
    let counted = 0;
    const reading = piped
      ? response.pipe((chunk, resume) => {
          taken += chunk.toString();
          if (holds) queueMicrotask(resume);
          return !holds;
        })
      : response.readInto(memory.subarray(4, room + 4), (count) => {
          counted += count;
        });
    const error: unknown = await reading.then(
      () => undefined,
      (thrown) => thrown ?? new Error('rejected without an error'),
    );
    const tooLong = !piped && whole.length > room;
    if (piped) {
      hold(whole.startsWith(taken), 'the bytes are the beginning of those that came');
      hold(breaks || taken === whole, 'a body that ends is read to its last byte');
    } else {
      const [before, after] = [memory.subarray(0, 4), memory.subarray(room + 4)];
      hold(`${before}${after}` === '########', 'nothing is written beside the memory');
      const got = memory.toString('latin1', 4, 4 + counted);
      hold(whole.startsWith(got) && counted <= room, 'the counted bytes are in the memory');
      hold(tooLong === sender.aborted, 'a body that is too long is given up');
    }
    if (tooLong)
      hold(isMillraceError(error, 'wrong-length'), 'the error says that the body is too long');
    else if (breaks) hold(error === BROKEN, 'the error is the one that broke the body');
    else if (!piped && whole.length < room) {
      hold(isMillraceError(error, 'wrong-length'), 'the error says that the body is too short');
    } else holdEqual(error, undefined, 'a complete body is read without an error');
  });
  await fc.assert(property, { seed: SEED, numRuns: CASES });
});
