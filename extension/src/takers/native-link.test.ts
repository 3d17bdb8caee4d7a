import { describe, expect, test } from '@jest/globals';
import type { Offer } from '../contract/taker.ts';
import { DesktopTaker } from './desktop.ts';
import type { NativePort } from './native-link.ts';

const GID = '0123456789abcdef';
const OFFER: Offer = {
  handOff: '00000000-0000-4000-8000-000000000001',
  url: 'http://example.com/a',
  finalUrl: 'http://example.com/a',
  fileName: 'a',
  length: 5,
  etag: '"x"',
  headers: {},
  edges: [],
};

type Message = { readonly id: number; readonly type: string };

/** Native host that answers as the test orders, and not at all without an order. */
class FakeHost {
  readonly asked: string[] = [];
  /** Reason why the browser cannot start the host. */
  missing: string | undefined;
  answers: Record<string, object | undefined> = {
    hello: { result: { version: 1, engine: '0.1.0' } },
  };
  #messages: ((message: unknown) => void)[] = [];
  #ends: ((port: NativePort) => void)[] = [];
  lastError: string | undefined;

  connect = (): NativePort => {
    this.#messages = [];
    this.#ends = [];
    if (this.missing !== undefined) queueMicrotask(() => this.end(this.missing));
    return {
      postMessage: (message) => this.#onMessage(message as Message),
      disconnect: () => {},
      onMessage: { addListener: (listener) => void this.#messages.push(listener) },
      onDisconnect: { addListener: (listener) => void this.#ends.push(listener) },
    };
  };

  say(message: unknown): void {
    for (const listener of this.#messages) listener(message);
  }

  end(why?: string): void {
    this.lastError = why;
    for (const listener of this.#ends) listener(this as never);
  }

  #onMessage({ id, type }: Message): void {
    if (this.missing !== undefined) return;
    this.asked.push(type);
    const answer = this.answers[type];
    if (answer !== undefined) queueMicrotask(() => this.say({ id, ...answer }));
  }
}

function desktop() {
  const host = new FakeHost();
  const lastError = () => host.lastError;
  const taker = new DesktopTaker({ connect: host.connect, lastError, browser: 'test' });
  return { host, taker };
}

const signal = new AbortController().signal;
const problem = (name: string) => expect.objectContaining({ problem: name });

describe('the desktop', () => {
  test('takes a download', async () => {
    const { host, taker } = desktop();
    host.answers = { ...host.answers, offer: { result: {} }, commit: { result: { gid: GID } } };
    await taker.offer(OFFER, signal);
    expect(await taker.commit(OFFER.handOff)).toBe(GID);
    expect(host.asked).toEqual(['hello', 'offer', 'commit']);
  });

  test.each([
    ['different', 'different-file'],
    ['different', 'version-unproven'],
    ['refused', 'queue-full'],
    ['failed', 'origin-denied'],
    // The host passes on that its daemon has ended meanwhile.
    ['lost', 'daemon-not-running'],
  ])('has the problem %s after the error %s', async (name, code) => {
    const { host, taker } = desktop();
    const error = { code, message: 'no', detail: '' };
    host.answers = { ...host.answers, offer: { error }, commit: { error } };
    await expect(taker.offer(OFFER, signal)).rejects.toEqual(problem(name));
    await expect(taker.commit(OFFER.handOff)).rejects.toEqual(problem(name));
  });

  test.each([
    ['no-host', 'Specified native messaging host not found.'],
    ['no-host', 'No such native application dev.millrace.host'],
    ['forbidden', 'Access to the specified native messaging host is forbidden.'],
    ['no-engine', 'Native host has exited.'],
  ])('is absent: %s', async (why, said) => {
    const { host, taker } = desktop();
    host.missing = said;
    await expect(taker.offer(OFFER, signal)).rejects.toEqual(problem('absent'));
    expect(taker.link.problem).toBe(why);
    expect(taker.link.connected).toBe(false);
  });

  test('is absent if its engine cannot be started, or has another version', async () => {
    for (const [code, why] of [
      ['daemon-silent', 'no-engine'],
      ['bad-option', 'other-version'],
    ]) {
      const { host, taker } = desktop();
      host.answers = { hello: { error: { code, message: 'no', detail: '' } } };
      await expect(taker.commit(OFFER.handOff)).rejects.toEqual(problem('absent'));
      expect(taker.link.problem).toBe(why);
    }
  });

  test('is lost if the connection ends during a call, and can be asked again later', async () => {
    const { host, taker } = desktop();
    const asked = taker.commit(OFFER.handOff);
    while (!host.asked.includes('commit')) await undefined;
    host.end('Native host has exited.');
    await expect(asked).rejects.toEqual(problem('lost'));
    host.answers.offerState = { result: { state: 'committed', gid: GID } };
    expect(await taker.stateOf(OFFER.handOff)).toEqual({ state: 'committed', id: GID });
  });

  test('is not believed if its answers are malformed', async () => {
    const { host, taker } = desktop();
    host.answers.commit = { result: { gid: 5 } };
    host.answers.offerState = { result: { state: 'perhaps' } };
    await expect(taker.commit(OFFER.handOff)).rejects.toEqual(problem('lost'));
    await expect(taker.stateOf(OFFER.handOff)).rejects.toEqual(problem('lost'));
    for (const message of [undefined, 5, {}, { id: 'x' }, { event: 'other' }]) host.say(message);
    host.answers.commit = { result: { gid: GID } };
    expect(await taker.commit(OFFER.handOff)).toBe(GID);
  });

  test('tells when its list has changed', async () => {
    const { host, taker } = desktop();
    host.answers = { ...host.answers, watch: { result: {} } };
    let changes = 0;
    const end = taker.onChange(() => changes++);
    await taker.link.watch(true);
    host.say({ event: 'changed' });
    end();
    host.say({ event: 'changed' });
    expect(changes).toBe(1);
  });
});
