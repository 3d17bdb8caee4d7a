import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { NativeOffer } from '@millrace/shared/bridge/native-api';
import type { DownloadRequest } from '@millrace/shared/download/request';
import { FakeDaemon, until } from '../../testing/fake-daemon.ts';
import { MAX_OFFERS, OFFER_KEPT_MS, Offers, PROOF_TIMEOUT_MS } from './offers.ts';

const HOUR = 3600_000;
const nameOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const FIRST = nameOf(1);

function offerOf(number: number, more: Partial<NativeOffer> = {}): NativeOffer {
  const url = `https://files.example/${number}.iso`;
  return {
    handOff: nameOf(number),
    url,
    finalUrl: url,
    fileName: `${number}.iso`,
    length: 1000,
    etag: '"a"',
    headers: { 'User-Agent': 'Browser/1', Referer: 'https://files.example/' },
    edges: [],
    ...more,
  };
}

let daemon: FakeDaemon;
let offers: Offers;
let clock = 0;
/** What the origins do. */
let prove: (request: DownloadRequest, signal: AbortSignal) => Promise<void>;
const asked: DownloadRequest[] = [];

function open(): void {
  offers = new Offers({
    manager: daemon.manager,
    prove: (request, _offered, signal) => {
      asked.push(request);
      return prove(request, signal);
    },
    now: () => daemon.now,
    clock: () => clock,
  });
}

const hangs = (_: DownloadRequest, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
const code = (code: string) => expect.objectContaining({ code });
const downloads = () => daemon.manager.unfinished();

beforeEach(() => {
  daemon = new FakeDaemon();
  prove = async () => {};
  asked.length = 0;
  open();
});
afterEach(async () => {
  offers.close();
  await daemon.remove();
});

describe('an offer', () => {
  test('becomes a download when it is taken, and not before', async () => {
    await offers.offer(offerOf(1));
    expect(offers.state(FIRST)).toEqual({ state: 'proven' });
    expect(downloads()).toEqual([]);
    const gid = offers.commit(FIRST);
    expect(offers.state(FIRST)).toEqual({ state: 'committed', gid });
    const { request, name, options } = daemon.manager.get(gid);
    expect(name).toBe('1.iso');
    expect(options).toMatchObject({ rename: true, handOff: FIRST });
    expect(request).toMatchObject({
      urls: ['https://files.example/1.iso'],
      length: 1000,
      headers: { 'user-agent': 'Browser/1', referer: 'https://files.example/' },
      edges: [],
    });
    // What is proved is what is downloaded.
    expect(asked).toEqual([{ ...request, file: '1.iso' }]);
  });

  test('twice is one: also when it is taken, after a restart, and after a change', async () => {
    const both = Promise.all([offers.offer(offerOf(1)), offers.offer(offerOf(1))]);
    await both;
    expect(asked).toHaveLength(1);
    const gid = offers.commit(FIRST);
    expect(offers.commit(FIRST)).toBe(gid);
    daemon.manager.change(gid, { priority: 3 });
    await daemon.shut();
    daemon.open();
    open();
    expect(offers.commit(FIRST)).toBe(gid);
    await offers.offer(offerOf(1));
    expect(offers.state(FIRST)).toEqual({ state: 'committed', gid });
    expect(downloads()).toHaveLength(1);
  });

  test('is still known when the download is complete, for a day', async () => {
    await offers.offer(offerOf(1));
    const gid = offers.commit(FIRST);
    await until(() => daemon.runs.length === 1);
    await daemon.runs[0]?.complete();
    expect(offers.state(FIRST)).toEqual({ state: 'committed', gid });
    daemon.now += 25 * HOUR;
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
  });

  test('of the same name and another file is refused', async () => {
    await offers.offer(offerOf(1));
    const other = { ...offerOf(1), length: 999 };
    expect(() => offers.offer(other)).toThrow(code('bad-option'));
    expect(offers.state(FIRST)).toEqual({ state: 'proven' });
  });

  test('leaves nothing where it cannot be proven', async () => {
    prove = async () => {
      throw new MillraceError('different-file');
    };
    await expect(offers.offer(offerOf(1))).rejects.toEqual(code('different-file'));
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    expect(() => offers.commit(FIRST)).toThrow(code('no-such-download'));
    const bad = offerOf(2, { url: 'https://' });
    await expect(offers.offer(bad)).rejects.toEqual(code('bad-url'));
    expect(downloads()).toEqual([]);
  });

  test('cannot be taken before it is proven', () => {
    prove = hangs;
    offers.offer(offerOf(1)).catch(() => {});
    expect(offers.state(FIRST)).toEqual({ state: 'proving' });
    expect(() => offers.commit(FIRST)).toThrow(code('wrong-state'));
  });

  test('that nobody takes is forgotten', async () => {
    await offers.offer(offerOf(1));
    clock += OFFER_KEPT_MS + 1;
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    expect(() => offers.commit(FIRST)).toThrow(code('no-such-download'));
  });

  test('ends by itself where the origin hangs', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      prove = hangs;
      const proof = offers.offer(offerOf(1));
      const failed = expect(proof).rejects.toEqual(code('origin-timeout'));
      await jest.advanceTimersByTimeAsync(PROOF_TIMEOUT_MS);
      await failed;
      expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    } finally {
      jest.useRealTimers();
    }
  });

  test('is one of so many', async () => {
    prove = hangs;
    for (let i = 0; i < MAX_OFFERS; i++) offers.offer(offerOf(i)).catch(() => {});
    expect(() => offers.offer(offerOf(MAX_OFFERS))).toThrow(code('queue-full'));
    await offers.withdraw(FIRST);
    prove = async () => {};
    await offers.offer(offerOf(MAX_OFFERS));
  });
});

describe('what is withdrawn', () => {
  test('leaves nothing, and can be offered anew at once', async () => {
    prove = hangs;
    const first = offers.offer(offerOf(1));
    const failed = expect(first).rejects.toEqual(code('interrupted'));
    await offers.withdraw(FIRST);
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    prove = async () => {};
    await offers.offer(offerOf(1));
    await failed;
    expect(offers.state(FIRST)).toEqual({ state: 'proven' });
    await offers.withdraw(FIRST);
    expect(() => offers.commit(FIRST)).toThrow(code('no-such-download'));
    expect(downloads()).toEqual([]);
  });

  test('ends the download that it has become, but never deletes a complete file', async () => {
    await offers.offer(offerOf(1));
    offers.commit(FIRST);
    await until(() => daemon.runs.length === 1);
    await offers.withdraw(FIRST);
    expect(downloads()).toEqual([]);
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    await offers.offer(offerOf(2));
    const gid = offers.commit(nameOf(2));
    await until(() => daemon.runs.length === 2);
    await daemon.runs[1]?.complete();
    await offers.withdraw(nameOf(2));
    expect(daemon.manager.get(gid).state).toBe('complete');
  });
});

describe('edges', () => {
  const edges = ['http://edge.example:3125/'];

  test('are used without what says who asks', async () => {
    await offers.offer(offerOf(1, { edges }));
    const { request } = daemon.manager.get(offers.commit(FIRST));
    expect(request).toMatchObject({ edges, headers: { 'user-agent': 'Browser/1' } });
  });

  test('are not used where the origin gives the file to this browser only', async () => {
    prove = async ({ headers }) => {
      if (headers.referer === undefined) throw new MillraceError('origin-denied');
    };
    await offers.offer(offerOf(1, { edges }));
    const { request } = daemon.manager.get(offers.commit(FIRST));
    expect(request.edges).toEqual([]);
    expect(request.headers.referer).toBe('https://files.example/');
    expect(asked).toHaveLength(2);
  });

  test('are not used where a redirect leads into a private network', async () => {
    const finalUrl = 'http://10.0.0.1/1.iso';
    await offers.offer(offerOf(1, { edges, finalUrl }));
    expect(daemon.manager.get(offers.commit(FIRST)).request.edges).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test.each(['Cookie', 'authorization'])('are never used with %s', async (name) => {
    await offers.offer(offerOf(1, { edges, headers: { [name]: 'a=b' } }));
    const { request } = daemon.manager.get(offers.commit(FIRST));
    expect(request).toMatchObject({ edges: [], headers: { [name.toLowerCase()]: 'a=b' } });
    expect(asked).toHaveLength(1);
  });
});
