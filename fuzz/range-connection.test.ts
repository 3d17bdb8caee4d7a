/**
 * Our own client connection, on a socket that delivers any bytes in any pieces, as Node's sockets
 * do: whatever an origin sends, the request settles with the body that the strict reader finds.
 */

import { EventEmitter } from 'node:events';
import { afterAll, test } from '@jest/globals';
import fc from 'fast-check';
import { RangeConnection } from '../shared/node/range-connection.ts';
import { isMillraceError } from '../shared/src/base/errors.ts';
import { mutatedText } from './mutate.ts';
import { hold, holdEqual } from './target.ts';
import { RESPONSES, readMessage } from './targets/http-response.ts';

const CASES = 20_000;
const SEED = 20_261_123;
const REFUSALS = ['malformed-response', 'origin-reset', 'wrong-length'];
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

interface OnRead {
  buffer(): Uint8Array;
  callback(count: number, buffer: Uint8Array): boolean;
}

/**
 * Fake socket with the members that a connection uses. Asks for the memory for a read in advance.
 */
class FakeSocket extends EventEmitter {
  readonly #onread: OnRead;
  #next: Uint8Array;
  #pieces: Buffer[] = [];
  #paused = false;
  #reading = false;
  destroyed = false;
  bytesRead = 0;

  constructor({ onread }: { onread: OnRead }) {
    super();
    this.#onread = onread;
    this.#next = onread.buffer();
  }

  /** Delivers bytes, then ends the connection. */
  receive(pieces: Buffer[]): void {
    this.#pieces = pieces;
    this.#read();
  }

  #read(): void {
    if (this.#reading) return;
    this.#reading = true;
    while (!this.#paused && !this.destroyed) {
      const piece = this.#pieces[0];
      if (piece === undefined) {
        this.emit('end');
        break;
      }
      const count = Math.min(piece.length, this.#next.length);
      this.#next.set(piece.subarray(0, count));
      if (count === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(count);
      this.bytesRead += count;
      const goesOn = this.#onread.callback(count, this.#next);
      this.#next = this.#onread.buffer();
      if (!goesOn) this.#paused = true;
    }
    this.#reading = false;
  }

  pause(): this {
    this.#paused = true;
    return this;
  }

  resume(): this {
    this.#paused = false;
    queueMicrotask(() => this.#read());
    return this;
  }

  destroy(): this {
    if (!this.destroyed) queueMicrotask(() => this.emit('close'));
    this.destroyed = true;
    return this;
  }

  setTimeout = () => this;
  ref = () => this;
  unref = () => this;
  write = () => true;
}

const tls = process.getBuiltinModule('node:tls') as { connect: unknown };
const { connect } = tls;
let last: FakeSocket;
tls.connect = (options: { onread: OnRead }) => {
  last = new FakeSocket(options);
  return last;
};
afterAll(() => {
  tls.connect = connect;
});

/** Sends a request on a new connection that receives the bytes, and returns its result. */
async function exchange(pieces: Buffer[], into: number | undefined, room: boolean, holds: boolean) {
  const connection = new RangeConnection(new URL('https://host/'), {
    timeoutMs: 1000,
    connectTimeoutMs: 1000,
  });
  last.emit('secureConnect');
  try {
    const asked = connection.request(REQUEST);
    last.receive(pieces);
    const head = await asked;
    let body = Buffer.alloc(0);
    if (into !== undefined && head.framing.kind === 'length') {
      body = Buffer.alloc(into, '#');
      let counted = 0;
      await connection.readInto(body, (count) => {
        counted += count;
      });
      hold(counted === into, 'every byte is counted');
    } else {
      const take = (piece: Buffer, resume: () => void) => {
        body = Buffer.concat([body, piece]);
        if (holds) queueMicrotask(resume);
        return !holds;
      };
      await connection.pipe(take, room ? () => new Uint8Array(7) : undefined);
    }
    return { status: head.status, body: body.toString('latin1'), reusable: connection.reusable };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return error.code;
  } finally {
    connection.destroy();
  }
}

const latin1 = (text: string) => Buffer.from(text.replace(/[^\0-\xff]/g, '?'), 'latin1');
const cases = fc.record({
  bytes: mutatedText(RESPONSES).map(latin1),
  cuts: fc.array(fc.nat(300), { maxLength: 5 }),
  intoMemory: fc.boolean(),
  room: fc.boolean(),
  holds: fc.boolean(),
});

test(`RangeConnection holds for ${CASES} cases of seed ${SEED}`, async () => {
  const property = fc.asyncProperty(cases, async ({ bytes, cuts, intoMemory, room, holds }) => {
    const text = bytes.toString('latin1');
    const meant = readMessage(text, []);
    if (meant !== undefined && meant.head.status < 200) return;
    const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
    at.sort((a, b) => a - b);
    const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
    const length = meant?.head.framing.kind === 'length' ? meant.head.framing.bytes : 0;
    const into = intoMemory && length < 100_000 ? length : undefined;
    const filled = pieces.filter((piece) => piece.length > 0);
    const got = await exchange(filled, into, room, holds);
    const behind = meant !== undefined && meant.taken < text.length;
    if (typeof got === 'string') {
      hold(REFUSALS.includes(got), `${got} is not an error that refuses a response`);
      // A body read into memory of its exact length: bytes after it are an error at once.
      const late = behind && into !== undefined;
      hold(meant?.ended !== true || late, `a well-formed response is read, not ${got}`);
      return;
    }
    hold(meant?.ended === true, 'a response that was read to its end has an end');
    holdEqual(
      [got.status, got.body],
      [meant.head.status, meant.body],
      'the response is the one that was sent',
    );
    const again = meant.head.keepAlive && !behind;
    hold(again || !got.reusable, 'bytes after an answer are never taken for the next answer');
  });
  await fc.assert(property, { seed: SEED, numRuns: CASES });
});
