import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '../../base/errors.ts';
import { type AttemptObserver, CompetingFetch } from './competing-fetch.ts';

const LATE_MS = 1000;
const BYTES = 1000;
const reset = new MillraceError('origin-reset');
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

type Buffered = ReturnType<typeof buffer>;

/** Memory that counts how often it has been given back. */
function buffer(name: string) {
  const made = {
    data: Buffer.from(name),
    released: 0,
    release() {
      made.released++;
    },
  };
  return made;
}

/**
 * A fetch whose requests end when the test orders it, and whose clock the test moves.
 *
 * @param atOnce whether requests find a connection at once
 */
function setUp(atOnce = true) {
  const requests: {
    signal: AbortSignal;
    observer: AttemptObserver;
    resolve: (buffer: Buffered) => void;
    reject: (error: unknown) => void;
  }[] = [];
  const clock = { now: 0 };
  const fetch = new CompetingFetch<Buffered>({
    start: (attempt, signal, observer) =>
      new Promise((resolve, reject) => {
        expect(attempt).toBe(requests.length);
        requests.push({ signal, observer, resolve, reject });
        if (atOnce) observer.onSent();
      }),
    bytes: BYTES,
    lateAfterMs: () => LATE_MS,
    now: () => clock.now,
  });
  const request = (n: number) => {
    const found = requests[n];
    if (found === undefined) throw new Error(`request ${n} has not been sent`);
    return found;
  };
  const controller = new AbortController();
  return { fetch, request, clock, controller, result: fetch.run(controller.signal) };
}

describe('CompetingFetch', () => {
  test('one request is enough if it is answered', async () => {
    const { fetch, request, result } = setUp();
    const answer = buffer('a');
    request(0).resolve(answer);
    expect(await result).toBe(answer);
    expect([fetch.begun, answer.released]).toEqual([1, 0]);
  });

  test('a second request is sent only if the first is late', () => {
    const { fetch, clock } = setUp();
    clock.now = LATE_MS - 1;
    fetch.hedge();
    expect(fetch.begun).toBe(1);
    clock.now = LATE_MS;
    fetch.hedge();
    fetch.hedge();
    expect(fetch.begun).toBe(2);
  });

  test('a late request that has most of its bytes is left alone while more arrive', () => {
    const { fetch, request, clock } = setUp();
    clock.now = LATE_MS;
    request(0).observer.onBytes(0.6 * BYTES);
    fetch.hedge();
    expect(fetch.begun).toBe(1);
    clock.now = 2 * LATE_MS;
    fetch.hedge();
    expect(fetch.begun).toBe(2);
  });

  test('a request that still waits for a connection is not late, however long it waits', () => {
    const { fetch, request, clock } = setUp(false);
    clock.now = 10 * LATE_MS;
    fetch.hedge();
    expect(fetch.begun).toBe(1);
    request(0).observer.onSent();
    clock.now = 11 * LATE_MS - 1;
    fetch.hedge();
    expect(fetch.begun).toBe(1);
    clock.now = 11 * LATE_MS;
    fetch.hedge();
    expect(fetch.begun).toBe(2);
    // Now the second request waits: another report of the first changes nothing.
    request(0).observer.onSent();
    clock.now = 20 * LATE_MS;
    fetch.hedge();
    expect(fetch.begun).toBe(2);
  });

  test.each([
    ['first', 0, 1],
    ['second', 1, 0],
  ])('the %s answer may win; the other request is cancelled', async (_, winner, loser) => {
    const { fetch, request, clock, result } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    const answer = buffer('a');
    request(winner).resolve(answer);
    expect(await result).toBe(answer);
    expect(request(loser).signal.aborted).toBe(true);
    const late = buffer('late');
    request(loser).resolve(late);
    await settle();
    expect([answer.released, late.released]).toEqual([0, 1]);
  });

  test('a passing failure of one request leaves it to the other', async () => {
    const { fetch, request, clock, result } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    request(0).reject(reset);
    await settle();
    expect(request(1).signal.aborted).toBe(false);
    const answer = buffer('b');
    request(1).resolve(answer);
    expect(await result).toBe(answer);
  });

  test('when all have failed, the last failure is the result', async () => {
    const { fetch, request, clock, result } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    request(1).reject(new MillraceError('origin-timeout'));
    await settle();
    request(0).reject(reset);
    await expect(result).rejects.toBe(reset);
  });

  test('a failure for good is the result at once; the other request is cancelled', async () => {
    const { fetch, request, clock, result } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    const changed = new MillraceError('version-changed');
    request(0).reject(changed);
    await expect(result).rejects.toBe(changed);
    expect(request(1).signal.aborted).toBe(true);
  });

  test('an error from outside the table fails as an internal error', async () => {
    const { request, result } = setUp();
    request(0).reject(new TypeError('x'));
    await expect(result).rejects.toMatchObject({ code: 'internal', detail: 'x' });
  });

  test('with two under way, the older is replaced if nothing has come for long', () => {
    const { fetch, request, clock } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    clock.now = 2 * LATE_MS;
    fetch.hedge();
    expect(fetch.begun).toBe(3);
    expect([0, 1, 2].map((n) => request(n).signal.aborted)).toEqual([true, false, false]);
  });

  test('with two under way, bytes coming in keep both', () => {
    const { fetch, request, clock } = setUp();
    expect(fetch.progressAt).toBeUndefined();
    clock.now = LATE_MS;
    fetch.hedge();
    clock.now = 2 * LATE_MS - 1;
    request(0).observer.onBytes(1);
    expect(fetch.progressAt).toBe(2 * LATE_MS - 1);
    clock.now = 3 * LATE_MS - 2;
    fetch.hedge();
    expect(fetch.begun).toBe(2);
    clock.now = 3 * LATE_MS - 1;
    fetch.hedge();
    expect(fetch.begun).toBe(3);
  });

  test('the failure of a request that was replaced has no effect', async () => {
    const { fetch, request, clock, result } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    clock.now = 2 * LATE_MS;
    fetch.hedge();
    request(0).reject(new MillraceError('internal'));
    await settle();
    const answer = buffer('c');
    request(2).resolve(answer);
    expect(await result).toBe(answer);
    expect(request(1).signal.aborted).toBe(true);
  });

  test('no more than eleven requests are sent', () => {
    const { fetch, clock } = setUp();
    for (let i = 1; i <= 50; i++) {
      clock.now = i * LATE_MS;
      fetch.hedge();
    }
    expect(fetch.begun).toBe(11);
  });

  test('aborting cancels every request, and nothing is sent afterwards', async () => {
    const { fetch, request, clock, controller, result } = setUp();
    clock.now = LATE_MS;
    fetch.hedge();
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(result).rejects.toBe(reason);
    expect([0, 1].map((n) => request(n).signal.aborted)).toEqual([true, true]);
    clock.now = 5 * LATE_MS;
    fetch.hedge();
    expect(fetch.begun).toBe(2);
    const late = buffer('late');
    request(0).resolve(late);
    await settle();
    expect(late.released).toBe(1);
  });

  test('a signal that has aborted already sends nothing', async () => {
    let sent = 0;
    const start = async () => {
      sent++;
      return buffer('x');
    };
    const fetch = new CompetingFetch({
      start,
      bytes: BYTES,
      lateAfterMs: () => LATE_MS,
      now: () => 0,
    });
    const reason = new Error('gone');
    await expect(fetch.run(AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(sent).toBe(0);
  });
});
