import { expect, test } from '@jest/globals';
import { PulledBody, QUEUE_BYTES } from './pulled-body.ts';

/** An answer whose body comes as the test says. */
function answer() {
  let write: (piece: Buffer, resume: () => void) => boolean = () => true;
  const settle = { end: () => {}, fail: (_error: unknown) => {} };
  const fake = {
    resumed: 0,
    discards: 0,
    settle,
    send: (bytes: number) => write(Buffer.alloc(bytes), () => void fake.resumed++),
    pipe(take: typeof write) {
      write = take;
      return new Promise<void>((resolve, reject) => {
        settle.end = resolve;
        settle.fail = reject;
      });
    },
    discard: () => void fake.discards++,
  };
  return fake;
}

const failing = (code: string, detail: unknown = expect.any(String)) =>
  expect.objectContaining({ code, detail });
const open = (source: ReturnType<typeof answer>, bytes: number, now = () => 0) =>
  new PulledBody(source, { bytes, signal: new AbortController().signal, now });

test('the bytes come piece by piece, and end when all have come', async () => {
  const source = answer();
  const body = open(source, 5);
  const first = body.next();
  source.send(2);
  expect((await first)?.length).toBe(2);
  source.send(3);
  expect((await body.next())?.length).toBe(3);
  source.settle.end();
  expect(await body.next()).toBeUndefined();
});

test('a source that is faster than the disk is held back', async () => {
  const source = answer();
  const body = open(source, 2 * QUEUE_BYTES);
  expect([source.send(QUEUE_BYTES - 1000), source.send(1000)]).toEqual([true, false]);
  expect((await body.next())?.length).toBe(QUEUE_BYTES - 1000);
  expect(source.resumed).toBe(1);
});

test('a source that sends each byte by itself takes no more memory than others', async () => {
  const source = answer();
  const body = open(source, QUEUE_BYTES);
  let sent = 1;
  while (source.send(1) && sent < QUEUE_BYTES) sent++;
  expect(sent).toBeLessThan(QUEUE_BYTES / 200);
  // They reach the disk as one piece, which does not take the large one behind them.
  source.send(10_000);
  expect((await body.next())?.length).toBe(sent);
  expect(source.resumed).toBe(1);
  expect((await body.next())?.length).toBe(10_000);
});

test.each([
  ['shorter', 4, '4 of 5 bytes'],
  ['longer', 6, 'more than 5 bytes'],
])('a body that is %s than its range is a failure', async (_, bytes, words) => {
  const source = answer();
  const body = open(source, 5);
  source.send(bytes);
  source.settle.end();
  const read = async () => {
    while ((await body.next()) !== undefined);
  };
  await expect(read()).rejects.toEqual(failing('wrong-length', words));
  expect(source.discards).toBeGreaterThan(0);
});

test('bytes that came before a connection broke are still read', async () => {
  const source = answer();
  const body = open(source, 5);
  source.send(4);
  source.settle.fail(new Error('broken'));
  expect((await body.next())?.length).toBe(4);
  await expect(body.next()).rejects.toEqual(failing('internal', 'broken'));
});

test('a source below the least pace is left', async () => {
  const source = answer();
  let now = 0;
  // Six seconds pass whenever the clock is read, so that each byte is waited for for 18 s.
  const body = open(source, 1_000_000, () => (now += 6000));
  for (let i = 0; i < 2; i++) {
    const read = body.next();
    source.send(1);
    expect((await read)?.length).toBe(1);
  }
  await expect(body.next()).rejects.toEqual(failing('origin-timeout'));
  expect(source.discards).toBe(1);
});

test('a pull that is ended does not wait for its source', async () => {
  const source = answer();
  const controller = new AbortController();
  const body = new PulledBody(source, { bytes: 5, signal: controller.signal, now: () => 0 });
  const read = body.next();
  controller.abort(new Error('ended'));
  await expect(read).rejects.toThrow('ended');
});
