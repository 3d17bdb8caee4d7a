import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Sink } from '@millrace/shared/download/transfer/transfer-ports';
import type { RoomForPiece } from '@millrace/shared/node/piece-reader';
import type { DownloadSource } from './download-source.ts';
import { HeldAnswer } from './held-answer.ts';
import type { Opened } from './source-answer.ts';

const SOURCE = { id: 'a' } as unknown as DownloadSource;
const never = new AbortController().signal;
/** Says of any bytes that they are stored. */
const all = () => true;

/** A body that the test sends piece by piece. */
function body(length: number) {
  const ended = Promise.withResolvers<void>();
  // A body that is discarded unread has no reader.
  ended.promise.catch(() => {});
  let sink: Sink | undefined;
  let room: RoomForPiece | undefined;
  let position = 0;
  let discarded = false;
  const opened = {
    kind: 'range',
    range: { start: 0, end: length },
    read: (given: Sink, memory: RoomForPiece) => {
      sink = given;
      room = memory;
      return ended.promise;
    },
    discard: () => {
      discarded = true;
      ended.reject(new MillraceError('origin-reset'));
    },
  } as unknown as Extract<Opened, { kind: 'range' }>;
  return {
    held: new HeldAnswer(SOURCE, opened),
    /** Sends a piece, whose memory is used for something else afterwards. */
    send(text: string) {
      const piece = Buffer.from(text);
      const wait = sink?.(position, piece);
      position += text.length;
      piece.fill('?');
      return wait;
    },
    end: ended.resolve,
    /** Memory that the next piece is read into; undefined: any. */
    get room() {
      return room?.();
    },
    get discarded() {
      return discarded;
    },
  };
}

/** Collects bytes by their positions. */
function collector() {
  const all: [number, string][] = [];
  const take: Sink = (position, bytes) => {
    all.push([position, Buffer.from(bytes).toString()]);
    return undefined;
  };
  return { all, take, text: () => all.map(([, text]) => text).join('') };
}

describe('a held answer', () => {
  test('waits where a reader ends, and goes on for the next one', async () => {
    const it = body(10);
    const first = collector();
    const reading = it.held.read(4, first.take, never);
    const rest = it.send('abcdef');
    await reading;
    expect([first.text(), it.held.position, it.held.isOpen]).toEqual(['abcd', 4, true]);
    expect(it.held.answerTo(SOURCE, { start: 3, end: 8 }, never, all)).toBeUndefined();
    expect(it.held.answerTo(SOURCE, { start: 4, end: 11 }, never, all)).toBeUndefined();
    const second = collector();
    const next = it.held.answerTo(SOURCE, { start: 4, end: 10 }, never, all)?.read(second.take);
    await rest;
    await it.send('ghij');
    it.end();
    await next;
    expect([second.text(), second.all[0]?.[0], it.held.isOpen]).toEqual(['efghij', 4, false]);
  });

  test('holds the body back although a piece ends just where the reader does', async () => {
    const it = body(10);
    const reading = it.held.read(4, collector().take, never);
    let goesOn = false;
    const held = it.send('abcd')?.then(() => {
      goesOn = true;
    });
    await reading;
    // Clients of other servers pass on empty pieces of a body that is held back.
    const empty = it.send('');
    await new Promise(setImmediate);
    expect([held === undefined, goesOn]).toEqual([false, false]);
    const next = it.held.read(10, collector().take, never);
    await Promise.all([held, empty]);
    it.end();
    await next;
  });

  test('asks for no pause for an empty piece, although its reader begins further on', async () => {
    const it = body(9);
    const rest = collector();
    const reading = it.held.read(9, rest.take, never, 3);
    expect(it.send('')).toBeUndefined();
    await it.send('abcdef');
    expect(it.send('')).toBeUndefined();
    it.send('ghi');
    it.end();
    await reading;
    expect(rest.text()).toBe('defghi');
  });

  test('keeps the order of pieces that come although it waits', async () => {
    const it = body(9);
    const reading = it.held.read(2, collector().take, never);
    const waits = [it.send('abc'), it.send('def')];
    await reading;
    const rest = collector();
    const next = it.held.read(9, rest.take, never);
    await Promise.all(waits);
    await it.send('ghi');
    it.end();
    await next;
    expect(rest.text()).toBe('cdefghi');
  });

  test('goes on behind the bytes that a reader took of a piece before it stopped', async () => {
    const it = body(9);
    const enough = new Error('enough');
    const first = it.held.read(
      9,
      () => {
        // It has taken "ab" of the piece, and the rest belongs to somebody else.
        throw enough;
      },
      never,
    );
    const wait = it.send('abcd');
    await expect(first).rejects.toBe(enough);
    const rest = collector();
    const next = it.held.answerTo(SOURCE, { start: 2, end: 9 }, never, all)?.read(rest.take);
    await wait;
    await it.send('efghi');
    it.end();
    await next;
    expect([rest.all[0], rest.text()]).toEqual([[2, 'cd'], 'cdefghi']);
  });

  test('is given to one of two requests that are made at the same time', async () => {
    const it = body(9);
    const first = it.held.answerTo(SOURCE, { start: 0, end: 3 }, never, all);
    // Both would read, and the one that was not the last to begin would get nothing for ever.
    expect(it.held.answerTo(SOURCE, { start: 3, end: 9 }, never, all)).toBeUndefined();
    const reading = first?.read(collector().take);
    void it.send('abcd');
    await reading;
    expect(it.held.answerTo(SOURCE, { start: 3, end: 9 }, never, all)).toBeDefined();
  });

  test('is free again if the request that it was given to was aborted before it read', async () => {
    const { held } = body(9);
    const abort = new AbortController();
    const first = held.answerTo(SOURCE, { start: 0, end: 3 }, abort.signal, all);
    abort.abort(new Error('not needed'));
    await expect(first?.read(collector().take)).rejects.toThrow(/not needed/);
    expect(held.answerTo(SOURCE, { start: 0, end: 3 }, never, all)).toBeDefined();
  });

  test('skips no more than a piece for a reader that begins further on', () => {
    const { held } = body(9_000_000);
    expect(held.answerTo(SOURCE, { start: 1024 * 1024 + 1, end: 2e6 }, never, all)).toBeUndefined();
    expect(held.answerTo(SOURCE, { start: 1024 * 1024, end: 2e6 }, never, all)).toBeDefined();
  });

  test('skips only what is stored: no other answer may bring the rest', () => {
    const { held } = body(9);
    const asked: unknown[] = [];
    const isStored = (range: unknown) => asked.push(range) > 1;
    const range = { start: 4, end: 9 };
    expect(held.answerTo(SOURCE, range, never, isStored)).toBeUndefined();
    expect(held.answerTo(SOURCE, range, never, isStored)).toBeDefined();
    expect(asked).toEqual(Array(2).fill({ start: 0, end: 4 }));
  });

  test('can still be read from where a reader gave up', async () => {
    const it = body(6);
    const enough = new Error('enough');
    const reading = it.held.read(
      6,
      () => {
        throw enough;
      },
      never,
    );
    const wait = it.send('abc');
    await expect(reading).rejects.toBe(enough);
    const rest = collector();
    const next = it.held.read(6, rest.take, never);
    await wait;
    await it.send('def');
    it.end();
    await next;
    expect(rest.text()).toBe('abcdef');
  });

  test('keeps its last piece for the next reader, although the body has ended', async () => {
    const it = body(6);
    const first = collector();
    const reading = it.held.read(2, first.take, never);
    void it.send('abcdef');
    it.end();
    await reading;
    await new Promise(setImmediate);
    const rest = collector();
    const next = it.held.answerTo(SOURCE, { start: 2, end: 6 }, never, all)?.read(rest.take);
    await next;
    expect([first.text(), rest.text(), it.held.isOpen]).toEqual(['ab', 'cdef', false]);
  });

  test('ends with its reader once another request has been served', async () => {
    const unread = body(6);
    unread.held.release();
    expect([unread.discarded, unread.held.isOpen]).toEqual([true, false]);
    const read = body(6);
    const reading = read.held.read(3, collector().take, never);
    read.held.release();
    expect(read.discarded).toBe(false);
    void read.send('abc');
    await reading;
    expect(read.discarded).toBe(true);
  });

  test('a reader that is aborted leaves the bytes to others', async () => {
    const it = body(3);
    const abort = new AbortController();
    const reading = it.held.read(3, collector().take, abort.signal);
    abort.abort(new Error('other bytes are needed more'));
    await expect(reading).rejects.toThrow(/other bytes/);
    expect([it.held.isOpen, it.held.position]).toEqual([true, 0]);
  });

  test('a body that breaks off fails its reader', async () => {
    const it = body(6);
    const reading = it.held.read(6, collector().take, never);
    it.held.discard();
    await expect(reading).rejects.toMatchObject({ code: 'origin-reset' });
  });

  test('is read into memory of its reader only where it is closed with that reader', async () => {
    const it = body(20);
    const memory = Buffer.alloc(8);
    const stop = new AbortController();
    const reading = it.held.read(10, collector().take, stop.signal, 0, () => memory);
    await it.send('abc');
    // It may wait for another reader, when this memory has other uses.
    expect(it.room).toBeUndefined();
    it.held.release();
    expect(it.room).toBe(memory);
    stop.abort(new Error('enough'));
    expect(it.room).toBeUndefined();
    await expect(reading).rejects.toThrow('enough');
    expect(it.discarded).toBe(true);
  });
});
