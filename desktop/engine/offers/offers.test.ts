import { describe, expect, jest, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { until } from '../../testing/fake-daemon.ts';
import { code, FIRST, nameOf, OffersStage, offerOf } from '../../testing/offers-stage.ts';
import { MAX_OFFERS, OFFER_KEPT_MS, PROOF_TIMEOUT_MS } from './offers.ts';

const HOUR = 3600_000;
const stage = OffersStage.forEachTest();

const hangs = (_: DownloadRequest, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
const downloads = () => stage.daemon.manager.unfinished();

describe('an offer', () => {
  test('becomes a download when it is committed, and not before', async () => {
    await stage.offers.offer(offerOf(1));
    expect(stage.offers.state(FIRST)).toEqual({ state: 'proven' });
    expect(downloads()).toEqual([]);
    const gid = stage.offers.commit(FIRST);
    expect(stage.offers.state(FIRST)).toEqual({ state: 'committed', gid });
    const { request, name, options } = stage.daemon.manager.get(gid);
    expect(name).toBe('1.iso');
    expect(options).toMatchObject({ rename: true, handOff: FIRST });
    expect(request).toMatchObject({
      urls: ['https://files.example/1.iso'],
      length: 1000,
      headers: { 'user-agent': 'Browser/1', referer: 'https://files.example/' },
      edges: [],
    });
    // The proven request is the one that is downloaded.
    expect(stage.asked).toEqual([{ ...request, file: '1.iso' }]);
  });

  test('made twice counts once, even after it was committed, after a restart, and after a change', async () => {
    const both = Promise.all([stage.offers.offer(offerOf(1)), stage.offers.offer(offerOf(1))]);
    await both;
    expect(stage.asked).toHaveLength(1);
    const gid = stage.offers.commit(FIRST);
    expect(stage.offers.commit(FIRST)).toBe(gid);
    stage.daemon.manager.changes.change(gid, { priority: 3 });
    await stage.reopen();
    expect(stage.offers.commit(FIRST)).toBe(gid);
    await stage.offers.offer(offerOf(1));
    expect(stage.offers.state(FIRST)).toEqual({ state: 'committed', gid });
    expect(downloads()).toHaveLength(1);
  });

  test('is remembered for a day, even after the download is complete', async () => {
    await stage.offers.offer(offerOf(1));
    const gid = stage.offers.commit(FIRST);
    await until(() => stage.daemon.runs.length === 1);
    await stage.daemon.runs[0]?.complete();
    expect(stage.offers.state(FIRST)).toEqual({ state: 'committed', gid });
    stage.daemon.now += 25 * HOUR;
    expect(stage.offers.state(FIRST)).toEqual({ state: 'unknown' });
  });

  test('with the same hand-off and another file is refused', async () => {
    await stage.offers.offer(offerOf(1));
    const other = { ...offerOf(1), length: 999 };
    expect(() => stage.offers.offer(other)).toThrow(code('bad-option'));
    expect(stage.offers.state(FIRST)).toEqual({ state: 'proven' });
  });

  test('leaves nothing if it cannot be proven', async () => {
    stage.prove = async () => {
      throw new MillraceError('different-file');
    };
    await expect(stage.offers.offer(offerOf(1))).rejects.toEqual(code('different-file'));
    expect(stage.offers.state(FIRST)).toEqual({ state: 'unknown' });
    expect(() => stage.offers.commit(FIRST)).toThrow(code('no-such-download'));
    const bad = offerOf(2, { url: 'https://' });
    await expect(stage.offers.offer(bad)).rejects.toEqual(code('bad-url'));
    expect(downloads()).toEqual([]);
  });

  test('of a small file is taken only if an earlier download continues with it', async () => {
    const { manager } = stage.daemon;
    const small = (i: number) => ({ ...offerOf(i), onlyRenews: true });
    await expect(stage.offers.offer(small(1))).rejects.toEqual(code('no-such-download'));
    // Its server was not even asked.
    expect(stage.asked).toEqual([]);
    const earlier = (name: string) =>
      manager.add({ urls: [`https://old.example/${name}`], length: 1000, paused: true });
    const { gid } = earlier('1.iso');
    await stage.offers.offer(small(1));
    expect(stage.offers.commit(FIRST)).toBe(gid);
    expect(manager.get(gid).request.urls[0]).toBe('https://files.example/1.iso');
    const gone = earlier('2.iso');
    await stage.offers.offer(small(2));
    const how = { deletePartial: true, deleteFile: false, forget: true, now: true };
    await manager.remover.remove({ gids: [gone.gid], ...how });
    expect(() => stage.offers.commit(small(2).handOff)).toThrow(code('no-such-download'));
    expect(downloads()).toHaveLength(1);
  });

  test('cannot be committed before it is proven', () => {
    stage.prove = hangs;
    stage.offers.offer(offerOf(1)).catch(() => {});
    expect(stage.offers.state(FIRST)).toEqual({ state: 'proving' });
    expect(() => stage.offers.commit(FIRST)).toThrow(code('wrong-state'));
  });

  test('that is not committed in time is forgotten', async () => {
    await stage.offers.offer(offerOf(1));
    stage.clock += OFFER_KEPT_MS + 1;
    expect(stage.offers.state(FIRST)).toEqual({ state: 'unknown' });
    expect(() => stage.offers.commit(FIRST)).toThrow(code('no-such-download'));
  });

  test('fails at the time limit if the origin hangs', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      stage.prove = hangs;
      const proof = stage.offers.offer(offerOf(1));
      const failed = expect(proof).rejects.toEqual(code('origin-timeout'));
      await jest.advanceTimersByTimeAsync(PROOF_TIMEOUT_MS);
      await failed;
      expect(stage.offers.state(FIRST)).toEqual({ state: 'unknown' });
    } finally {
      jest.useRealTimers();
    }
  });

  test('is refused while there are too many', async () => {
    stage.prove = hangs;
    for (let i = 0; i < MAX_OFFERS; i++) stage.offers.offer(offerOf(i)).catch(() => {});
    expect(() => stage.offers.offer(offerOf(MAX_OFFERS))).toThrow(code('queue-full'));
    await stage.offers.withdraw(FIRST);
    stage.prove = async () => {};
    await stage.offers.offer(offerOf(MAX_OFFERS));
  });
});

describe('a withdrawn offer', () => {
  test('leaves nothing, and can be made again at once', async () => {
    stage.prove = hangs;
    const first = stage.offers.offer(offerOf(1));
    const failed = expect(first).rejects.toEqual(code('interrupted'));
    await stage.offers.withdraw(FIRST);
    expect(stage.offers.state(FIRST)).toEqual({ state: 'unknown' });
    stage.prove = async () => {};
    await stage.offers.offer(offerOf(1));
    await failed;
    expect(stage.offers.state(FIRST)).toEqual({ state: 'proven' });
    await stage.offers.withdraw(FIRST);
    expect(() => stage.offers.commit(FIRST)).toThrow(code('no-such-download'));
    expect(downloads()).toEqual([]);
  });

  test('ends the download that it has become, but never deletes a complete file', async () => {
    await stage.offers.offer(offerOf(1));
    stage.offers.commit(FIRST);
    await until(() => stage.daemon.runs.length === 1);
    await stage.offers.withdraw(FIRST);
    expect(downloads()).toEqual([]);
    expect(stage.offers.state(FIRST)).toEqual({ state: 'unknown' });
    await stage.offers.offer(offerOf(2));
    const gid = stage.offers.commit(nameOf(2));
    await until(() => stage.daemon.runs.length === 2);
    await stage.daemon.runs[1]?.complete();
    await stage.offers.withdraw(nameOf(2));
    expect(stage.daemon.manager.get(gid).state).toBe('complete');
  });
});

describe('an offer of the file of a failed download', () => {
  /** Makes a failed download of the first offer's file, which holds bytes. */
  async function failed(): Promise<string> {
    const urls = ['https://files.example/1.iso?expired'];
    const { gid, run } = await stage.daemon.run('a', { urls, file: '1.iso' });
    run.storedBytes = 400;
    await run.fail(new MillraceError('origin-denied'));
    await until(() => stage.daemon.manager.get(gid).state === 'error');
    return gid;
  }

  test('gives it its link and its fields, even if it is older than a day, and is remembered', async () => {
    const gid = await failed();
    stage.daemon.now += 25 * HOUR;
    await stage.offers.offer(offerOf(1));
    expect(stage.daemon.manager.get(gid).state).toBe('error');
    expect(stage.offers.commit(FIRST)).toBe(gid);
    expect(stage.daemon.manager.get(gid).request).toMatchObject({
      urls: ['https://files.example/1.iso'],
      headers: { referer: 'https://files.example/' },
    });
    await stage.reopen();
    expect(stage.offers.state(FIRST)).toEqual({ state: 'committed', gid });
    expect(stage.offers.commit(FIRST)).toBe(gid);
    expect(downloads()).toHaveLength(1);
  });

  test('stops it when it is withdrawn, and deletes nothing', async () => {
    const gid = await failed();
    await stage.offers.offer(offerOf(1));
    stage.offers.commit(FIRST);
    await until(() => stage.daemon.runs.length === 2);
    await stage.offers.withdraw(FIRST);
    expect(stage.daemon.manager.get(gid)).toMatchObject({ state: 'paused' });
    expect(stage.daemon.removedPartials).toEqual([]);
  });
});

describe('edges', () => {
  const edges = ['http://edge.example:3125/'];

  test('are used without fields that identify the user', async () => {
    await stage.offers.offer(offerOf(1, { edges }));
    const { request } = stage.daemon.manager.get(stage.offers.commit(FIRST));
    expect(request).toMatchObject({ edges, headers: { 'user-agent': 'Browser/1' } });
  });

  test('are not used if the origin gives the file to this browser only', async () => {
    stage.prove = async ({ headers }) => {
      if (headers.referer === undefined) throw new MillraceError('origin-denied');
    };
    await stage.offers.offer(offerOf(1, { edges }));
    const { request } = stage.daemon.manager.get(stage.offers.commit(FIRST));
    expect(request.edges).toEqual([]);
    expect(request.headers.referer).toBe('https://files.example/');
    expect(stage.asked).toHaveLength(2);
  });

  test('are not used if a redirect leads into a private network', async () => {
    const finalUrl = 'http://10.0.0.1/1.iso';
    await stage.offers.offer(offerOf(1, { edges, finalUrl }));
    expect(stage.daemon.manager.get(stage.offers.commit(FIRST)).request.edges).toEqual([]);
    expect(stage.asked).toHaveLength(1);
  });

  test.each(['Cookie', 'authorization'])('are never used with %s', async (name) => {
    await stage.offers.offer(offerOf(1, { edges, headers: { [name]: 'a=b' } }));
    const { request } = stage.daemon.manager.get(stage.offers.commit(FIRST));
    expect(request).toMatchObject({ edges: [], headers: { [name.toLowerCase()]: 'a=b' } });
    expect(stage.asked).toHaveLength(1);
  });
});
