import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../testing/virtual-clock.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Route } from '../routing/route.ts';
import type { AttemptObserver } from './competing-fetch.ts';
import { ForwardFetch, HOLDER_PATIENCE_MS } from './forward-fetch.ts';
import { PeerFailure } from './peer-failure.ts';
import { SLOW_CHUNK_MS } from './peer-speeds.ts';

interface Node {
  readonly name: string;
}
interface Result {
  readonly from: string;
  release(): void;
}
interface Asked {
  readonly name: string;
  readonly ifHeld: boolean;
  readonly not: readonly string[];
  readonly signal: AbortSignal;
  readonly observer: AttemptObserver;
  bring(): void;
  fail(error: unknown): void;
}

const LATE_MS = 3000;

/**
 * A fetch that may ask the given peers one after the other, then a holder, then the origin.
 *
 * @param holder asked instead of the origin at most once
 */
function setUp(peers: readonly string[], holder: string) {
  const clock = new VirtualClock();
  const asked: Asked[] = [];
  const silent: string[] = [];
  const slow = new Set<string>();
  const result = (from: string): Result => ({ from, release() {} });
  const route = (tried: ReadonlySet<string>, askHolder: boolean): Route<Node> => {
    const name = peers.find((peer) => !tried.has(peer));
    if (name !== undefined) return { to: 'peer', peer: { name }, keep: true };
    if (!askHolder) return { to: 'origin' };
    return { to: 'peer', peer: { name: holder }, keep: true, ifHeld: true };
  };
  const forward = new ForwardFetch<Node, Result>({
    bytes: 1000,
    now: () => clock.now,
    network: {
      route: (_attempt, tried, askHolder) => route(tried, askHolder),
      ask: ({ name }, _attempt, not, signal, observer, ifHeld) =>
        new Promise((resolve, reject) => {
          observer.onSent();
          signal.addEventListener('abort', () => reject(signal.reason));
          const bring = () => resolve(result(name));
          asked.push({ name, ifHeld, not, signal, observer, bring, fail: reject });
        }),
      own: async () => result('origin'),
      after(ms, run) {
        let isWanted = true;
        clock.in(ms, () => isWanted && run());
        return () => {
          isWanted = false;
        };
      },
      lateAfterMs: (peer) => (peer !== undefined && slow.has(peer) ? SLOW_CHUNK_MS : LATE_MS),
      heardAt: () => undefined,
      isSlow: (peer) => slow.has(peer),
      onSilent: (peer) => silent.push(peer),
    },
  });
  const end = new AbortController();
  const got = forward.fetch.run(end.signal);
  const pass = (ms: number) => {
    let isOver = false;
    clock.in(ms, () => {
      isOver = true;
    });
    clock.run(() => isOver, Number.POSITIVE_INFINITY);
  };
  return { got, asked, silent, slow, end, pass, watch: () => forward.watch() };
}

/** Lets all that follows at once happen. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a node that is asked instead of the origin', () => {
  test('brings the chunk that it has', async () => {
    const { got, asked } = setUp([], 'holder');
    expect(asked.map(({ name, ifHeld }) => [name, ifHeld])).toEqual([['holder', true]]);
    asked[0]?.bring();
    expect((await got).from).toBe('holder');
  });

  test.each([
    ['does not have the chunk', new MillraceError('not-cached')],
    ['fails', new PeerFailure('holder', new MillraceError('origin-reset'))],
  ])('is left for the origin at once if it %s, and no other is asked', async (_, error) => {
    const { got, asked, silent } = setUp([], 'holder');
    asked[0]?.fail(error);
    expect((await got).from).toBe('origin');
    expect([asked.length, silent]).toEqual([1, []]);
  });

  test('is left for the origin if it gives no sign within its time', async () => {
    const { got, asked, pass } = setUp([], 'holder');
    pass(HOLDER_PATIENCE_MS - 1);
    await settled();
    expect(asked[0]?.signal.aborted).toBe(false);
    pass(1);
    expect((await got).from).toBe('origin');
    expect(asked[0]?.signal.aborted).toBe(true);
  });

  test('has as much time as any other once it has given a sign', async () => {
    const { got, asked, pass } = setUp([], 'holder');
    asked[0]?.observer.onBytes(0);
    pass(3 * HOLDER_PATIENCE_MS);
    await settled();
    expect(asked[0]?.signal.aborted).toBe(false);
    asked[0]?.bring();
    expect((await got).from).toBe('holder');
  });

  test('comes after all others, and is told which of them have failed', async () => {
    const { got, asked } = setUp(['a', 'b'], 'holder');
    asked[0]?.fail(new PeerFailure('a', new MillraceError('origin-reset')));
    await settled();
    asked[1]?.fail(new PeerFailure('b', new MillraceError('origin-reset')));
    await settled();
    expect(asked.map(({ name, ifHeld }) => [name, ifHeld])).toEqual([
      ['a', false],
      ['b', false],
      ['holder', true],
    ]);
    expect(asked[2]?.not).toEqual(['a', 'b']);
    asked[2]?.bring();
    expect((await got).from).toBe('holder');
  });

  test('is no longer asked when the chunk is no longer wanted, and nor is the origin', async () => {
    const { got, asked, end } = setUp([], 'holder');
    const gone = new Error('gone');
    end.abort(gone);
    await expect(got).rejects.toBe(gone);
    expect(asked[0]?.signal.aborted).toBe(true);
  });
});

describe('a watched fetch', () => {
  /** A fetch of which half has come after a second, from the first of two nodes. */
  function begun() {
    const all = setUp(['a', 'b'], 'holder');
    const unwatch = all.watch();
    all.pass(1000);
    all.asked[0]?.observer.onBytes(1000);
    return { ...all, unwatch };
  }

  test('asks another node as soon as a chunk of a slow one is late', async () => {
    const { asked, slow, pass } = begun();
    pass(SLOW_CHUNK_MS - 1000 - 1);
    slow.add('a');
    expect(asked.length).toBe(1);
    pass(1);
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('asks another node if the first proves slow only after that', async () => {
    const { asked, slow, pass } = begun();
    pass(SLOW_CHUNK_MS - 1000);
    slow.add('a');
    pass(199);
    expect(asked.length).toBe(1);
    pass(1);
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('waits for its usual time if the node is not slow', async () => {
    const { asked, pass, watch } = setUp(['a', 'b'], 'holder');
    watch();
    pass(LATE_MS - 1);
    expect(asked.length).toBe(1);
    pass(1);
    expect(asked.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('is left alone once nobody watches it any more', async () => {
    const { asked, slow, pass, unwatch } = begun();
    slow.add('a');
    unwatch();
    pass(10 * LATE_MS);
    expect(asked.length).toBe(1);
  });
});
