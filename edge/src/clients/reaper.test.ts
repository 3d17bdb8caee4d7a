import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { TcpState } from '@millrace/shared/cdn/clients/vanished-client';
import { ClientReaper } from './reaper.ts';

const FINE: TcpState = {
  retransmits: 0,
  probes: 0,
  unacked: 1,
  unsentBytes: 0,
  lastSentMs: 5,
  lastAckMs: 5,
};
const HAS_ALL: TcpState = { ...FINE, unacked: 0 };
const GONE: TcpState = { ...HAS_ALL, probes: 3, unsentBytes: 1, lastAckMs: 9000 };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A reaper that reads the states of connections from `states` instead of the kernel. */
function setUp() {
  const states = new Map<Socket, TcpState | undefined>();
  const readTcpInfo = jest.fn((socket: Socket) => states.get(socket));
  const onReaped = jest.fn();
  const reaper = new ClientReaper({ readTcpInfo, now: () => performance.now(), onReaped });
  const client = (state: TcpState | undefined, outstanding = () => true) => {
    const socket = new Socket();
    states.set(socket, state);
    const reap = jest.fn(() => void states.set(socket, undefined));
    return { socket, reap, handOn: reaper.watch(socket, outstanding, reap) };
  };
  return { states, readTcpInfo, onReaped, reaper, client };
}

describe('ClientReaper', () => {
  test('reaps a vanished client once, and no other client', () => {
    const { client, states, onReaped, reaper } = setUp();
    const [a, b, unknown] = [client(FINE), client(FINE), client(undefined)];
    jest.advanceTimersByTime(10_000);
    expect(onReaped).not.toHaveBeenCalled();
    states.set(a.socket, GONE);
    jest.advanceTimersByTime(250);
    states.set(a.socket, GONE);
    jest.advanceTimersByTime(10_000);
    expect(a.reap).toHaveBeenCalledTimes(1);
    expect(onReaped).toHaveBeenCalledTimes(1);
    expect(b.reap).not.toHaveBeenCalled();
    expect(unknown.reap).not.toHaveBeenCalled();
    expect(reaper.watching).toBe(2);
  });

  test('reaps several that vanish together, even if one reap ends the watch of another', () => {
    const { client, onReaped } = setUp();
    const clients = [client(GONE), client(GONE), client(GONE)];
    clients[0]?.reap.mockImplementation(() => {
      clients[1]?.socket.destroy();
      clients[1]?.handOn();
    });
    jest.advanceTimersByTime(250);
    expect(clients.map(({ reap }) => reap.mock.calls.length)).toEqual([1, 0, 1]);
    expect(onReaped).toHaveBeenCalledTimes(2);
  });

  test('several responses on one connection are one client, and all of them end', () => {
    const { client, onReaped, reaper } = setUp();
    const first = client(GONE);
    const reap = jest.fn();
    reaper.watch(first.socket, () => true, reap);
    const other = client(FINE);
    jest.advanceTimersByTime(250);
    expect([first.reap.mock.calls.length, reap.mock.calls.length]).toEqual([1, 1]);
    expect(onReaped).toHaveBeenCalledTimes(1);
    expect(other.reap).not.toHaveBeenCalled();
    expect(reaper.watching).toBe(1);
  });

  test('steps are in proportion to the clients that vanish at once, not to their square', () => {
    const { client, onReaped, reaper } = setUp();
    const clients = Array.from({ length: 2000 }, () => client(GONE));
    // Two responses on each connection, as with HTTP/2.
    for (const { socket } of clients) reaper.watch(socket, () => true, jest.fn());
    let steps = 0;
    const values = Set.prototype[Symbol.iterator];
    const counted = jest.spyOn(Set.prototype, Symbol.iterator).mockImplementation(function* (
      this: Set<unknown>,
    ) {
      for (const value of { [Symbol.iterator]: () => values.call(this) }) {
        steps++;
        yield value;
      }
      return undefined;
    });
    try {
      jest.advanceTimersByTime(250);
    } finally {
      counted.mockRestore();
    }
    expect(onReaped).toHaveBeenCalledTimes(2000);
    expect(reaper.watching).toBe(0);
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThan(5 * 2000);
  });

  test('does not ask the kernel about clients that have nothing to acknowledge', () => {
    const { client, readTcpInfo } = setUp();
    let outstanding = false;
    const { reap } = client(GONE, () => outstanding);
    jest.advanceTimersByTime(10_000);
    expect(readTcpInfo).not.toHaveBeenCalled();
    outstanding = true;
    jest.advanceTimersByTime(250);
    expect(reap).toHaveBeenCalledTimes(1);
  });

  test('waits longer for answers to timeouts if other clients have answered late', () => {
    const { client, states } = setUp();
    const lost = { ...FINE, retransmits: 1, lastSentMs: 100, lastAckMs: 400 };
    const others = Array.from({ length: 5 }, () => client(lost));
    const [a, b] = [client(FINE), client(FINE)];
    jest.advanceTimersByTime(250);
    for (const { socket } of others) states.set(socket, FINE);
    jest.advanceTimersByTime(250);
    states.set(a.socket, { ...lost, retransmits: 2, lastAckMs: 700 });
    jest.advanceTimersByTime(250);
    expect(a.reap).not.toHaveBeenCalled();
    states.set(a.socket, { ...lost, retransmits: 7, lastAckMs: 30_000 });
    jest.advanceTimersByTime(250);
    expect(a.reap).toHaveBeenCalledTimes(1);
    // A minute later the late answers are forgotten.
    jest.advanceTimersByTime(60_000);
    states.set(b.socket, { ...lost, retransmits: 2, lastAckMs: 700 });
    jest.advanceTimersByTime(250);
    expect(b.reap).toHaveBeenCalledTimes(1);
  });

  test('looks more often at a client that has left a timeout unanswered', () => {
    const { client, states, readTcpInfo } = setUp();
    const [a, b] = [client(FINE), client(FINE)];
    states.set(a.socket, { ...FINE, retransmits: 1, lastAckMs: 500 });
    jest.advanceTimersByTime(250);
    readTcpInfo.mockClear();
    states.set(a.socket, { ...FINE, retransmits: 2, lastAckMs: 700 });
    jest.advanceTimersByTime(50);
    expect(readTcpInfo.mock.calls).toEqual([[a.socket]]);
    expect(a.reap).toHaveBeenCalledTimes(1);
    expect(b.reap).not.toHaveBeenCalled();
  });

  test.each([
    ['unacknowledged', { unacked: 3 }],
    ['not even sent', { unacked: 0, unsentBytes: 3 }],
  ])('reaps a client that vanishes while the kernel holds bytes that are %s', (_what, held) => {
    const { client, states, onReaped, reaper } = setUp();
    const { socket, reap, handOn } = client({ ...FINE, ...held });
    handOn();
    jest.advanceTimersByTime(10_000);
    expect(reaper.watching).toBe(1);
    states.set(socket, { ...FINE, ...held, unacked: 3, retransmits: 2, lastAckMs: 700 });
    jest.advanceTimersByTime(250);
    expect(reap).toHaveBeenCalledTimes(1);
    expect(onReaped).toHaveBeenCalledTimes(1);
    expect(reaper.watching).toBe(0);
  });

  test('a new response on a connection is watched instead of one that was handed on', () => {
    const { client, states, reaper } = setUp();
    const first = client(FINE);
    first.handOn();
    const reap = jest.fn();
    const handOn = reaper.watch(first.socket, () => true, reap);
    expect(reaper.watching).toBe(1);
    // The same with several at once, as with HTTP/2.
    const third = reaper.watch(first.socket, () => true, jest.fn());
    third();
    handOn();
    expect(reaper.watching).toBe(1);
    states.set(first.socket, GONE);
    jest.advanceTimersByTime(250);
    expect([first.reap.mock.calls.length, reap.mock.calls.length]).toEqual([0, 1]);
  });

  test('forgets a client that closes its connection, before or after its last response', () => {
    const { client, states, reaper } = setUp();
    const [before, after] = [client(FINE), client(FINE)];
    before.socket.destroy();
    before.handOn();
    expect(reaper.watching).toBe(1);
    after.handOn();
    states.set(after.socket, undefined);
    jest.advanceTimersByTime(250);
    expect(reaper.watching).toBe(0);
    for (const { reap } of [before, after]) expect(reap).not.toHaveBeenCalled();
  });

  test('looks only while clients are watched, with one timer for all', () => {
    const { client, reaper, states } = setUp();
    expect(jest.getTimerCount()).toBe(0);
    const [a, b] = [client(FINE), client(FINE)];
    expect(jest.getTimerCount()).toBe(1);
    for (const { socket } of [a, b]) states.set(socket, HAS_ALL);
    a.handOn();
    a.handOn();
    jest.advanceTimersByTime(250);
    expect([reaper.watching, jest.getTimerCount()]).toEqual([1, 1]);
    b.handOn();
    jest.advanceTimersByTime(250);
    expect(jest.getTimerCount()).toBe(0);
    const c = client(GONE);
    reaper.stop();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(10_000);
    expect(c.reap).not.toHaveBeenCalled();
    expect(reaper.watching).toBe(0);
  });

  test('watches no client if the state of connections cannot be read', () => {
    const reaper = new ClientReaper({
      readTcpInfo: undefined,
      now: () => performance.now(),
      onReaped: () => {},
    });
    const handOn = reaper.watch(new Socket(), () => true, jest.fn());
    expect([reaper.watching, jest.getTimerCount()]).toEqual([0, 0]);
    handOn();
  });
});
