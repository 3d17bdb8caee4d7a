import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { SESSION_ENDED } from '@millrace/shared/bridge/page/session-api';
import { CallError, Connection, type LinkState } from './connection.ts';

/** A socket that opens and closes when a test says so, and answers each call with its method's name. */
class FakeSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static last: FakeSocket;
  readyState = FakeSocket.CONNECTING;
  sent: string[] = [];

  constructor() {
    super();
    FakeSocket.last = this;
  }

  open(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
  }

  send(text: string): void {
    const { id, method } = JSON.parse(text);
    this.sent.push(method);
    const data = JSON.stringify({ jsonrpc: '2.0', id, result: method });
    this.dispatchEvent(Object.assign(new Event('message'), { data }));
  }

  close(code = 1006): void {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event('close'), { code }));
  }
}

const states: LinkState['kind'][] = [];
const before = { ...globalThis };

function connected(): Connection {
  const connection = new Connection({
    onOpen: () => undefined,
    onState: ({ kind }) => states.push(kind),
    onNotification: () => undefined,
  });
  connection.connect();
  return connection;
}

const failure = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error) => (error instanceof CallError ? error.code : String(error)),
  );

beforeEach(() => {
  states.length = 0;
  jest.useFakeTimers();
  Object.assign(globalThis, {
    WebSocket: FakeSocket,
    location: { protocol: 'http:', host: 'localhost' },
    fetch: () => Promise.reject(new Error('no network')),
  });
});

afterEach(() => {
  jest.useRealTimers();
  Object.assign(globalThis, { WebSocket: before.WebSocket, fetch: before.fetch });
});

describe('a call before the connection is open', () => {
  test('was refused at once: it waits, behind what the page asks first', async () => {
    const connection = connected();
    const answer = connection.call('millrace.shares', {});
    expect(FakeSocket.last.sent).toEqual([]);
    FakeSocket.last.open();
    expect(await answer).toBe('millrace.shares');
  });

  test('fails once the first attempt has failed', async () => {
    const answer = failure(connected().call('millrace.shares', {}));
    FakeSocket.last.close();
    expect(await answer).toBe('connection');
    expect(states).toEqual(['lost']);
  });

  test('fails after ten seconds without either', async () => {
    const answer = failure(connected().call('millrace.shares', {}));
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await answer).toBe('connection');
    expect(jest.getTimerCount()).toBe(0);
  });

  test('waits after another log-in, too', async () => {
    const connection = connected();
    FakeSocket.last.open();
    FakeSocket.last.close(SESSION_ENDED);
    expect(states).toEqual(['open', 'logged-out']);
    connection.connect();
    const answer = connection.call('millrace.shares', {});
    FakeSocket.last.open();
    expect(await answer).toBe('millrace.shares');
  });
});

test('a call while a lost connection is made anew fails at once, and is never sent', async () => {
  const connection = connected();
  const first = FakeSocket.last;
  first.open();
  first.close();
  await jest.advanceTimersByTimeAsync(1000);
  expect(FakeSocket.last).not.toBe(first);
  expect(await failure(connection.call('millrace.shares', {}))).toBe('connection');
  FakeSocket.last.open();
  expect(FakeSocket.last.sent).toEqual([]);
  expect(await connection.call('millrace.shares', {})).toBe('millrace.shares');
});
