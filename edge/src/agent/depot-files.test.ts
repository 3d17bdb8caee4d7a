import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { depotFileUrl } from '@millrace/shared/cdn/depot/depot-file';
import { newPurge, Purges } from '../cache/purges.ts';
import type { StoredFile } from '../peers/depot-message.ts';
import { proofOf } from '../policy/proofs.ts';
import { DepotFiles } from './depot-files.ts';

const SECRET = 's'.repeat(32);
const LINK = { kind: 'read', id: 'AAAAAAAAAAAAdpot', secret: SECRET } as const;
const HOUR = 3_600_000;
const { signal } = new AbortController();
const failing = (code: string) => expect.objectContaining({ code });

/** A depot with one file, which its node asks from others. */
function stage() {
  let now = 1_800_000_000_000;
  const depot = {
    ...{ leaseEnd: now + HOUR, isThere: true, has: true, asked: 0 },
    /** Ids of its files. */
    ids: new Set<string>([LINK.id]),
    /** Resolves when it answers. */
    answer: Promise.resolve(),
    /** Called while a question is under way. */
    onAsked: async () => {},
  };
  const purges = new Purges();
  const files = new DepotFiles({
    purges,
    now: () => now,
    wallClock: () => now,
    depots: {
      knows: (id) => id.endsWith('dpot'),
      mayFind: (id) => id.endsWith('dpot'),
      answers: () => depot.isThere,
      unknown: () => new MillraceError('no-such-allocation'),
      async ask(id, proof): Promise<StoredFile> {
        depot.asked++;
        const { isThere, has, leaseEnd } = depot;
        await depot.answer;
        await depot.onAsked();
        if (!isThere) throw new MillraceError('depot-unreachable');
        const isRight = depot.ids.has(id) && proof === proofOf(SECRET);
        if (!has || !isRight) throw new MillraceError('no-such-allocation');
        if (now >= leaseEnd) throw new MillraceError('allocation-expired');
        return { length: 10, sha256: 'a'.repeat(64), leftMs: leaseEnd - now };
      },
    },
  });
  const mayGuess = () => {};
  return {
    ...{ depot, purges, files },
    find: (more: object = {}) => files.find({ ...LINK, ...more }, signal, mayGuess),
    pass(ms: number) {
      now += ms;
    },
    purge: async () => {
      const target = { kind: 'url', url: depotFileUrl(LINK.id) } as const;
      await purges.purge(newPurge(target, now), true);
      files.onPurge(target);
    },
  };
}

/** Lets everything settle that waits for nothing outside. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('DepotFiles', () => {
  test('asks the depot once a minute, and never about a wrong secret of a known file', async () => {
    const { depot, find, pass } = stage();
    const [one, other] = await Promise.all([find(), find()]);
    expect([one, depot.asked]).toEqual([other, 1]);
    await expect(find({ secret: 'x'.repeat(32) })).rejects.toEqual(failing('no-such-allocation'));
    pass(59_000);
    await find();
    expect(depot.asked).toBe(1);
    pass(1000);
    await find();
    await expect(find({ secret: 'x'.repeat(32) })).rejects.toEqual(failing('no-such-allocation'));
    expect(depot.asked).toBe(2);
  });

  test('asks once for a crowd with a new link', async () => {
    const { depot, find } = stage();
    const found = await Promise.all(Array.from({ length: 500 }, () => find()));
    expect([new Set(found).size, depot.asked]).toEqual([1, 1]);
  });

  test('asks nobody about an id that names no depot', async () => {
    const { depot, find } = stage();
    const strange = find({ id: 'AAAAAAAAAAAAnone' });
    await expect(strange).rejects.toEqual(failing('no-such-allocation'));
    expect(depot.asked).toBe(0);
  });

  test('asks about few wrong links of a depot, whoever has them, and about known files as ever', async () => {
    const { depot, find, pass } = stage();
    await find();
    const guess = (i: number) => find({ id: `${String(i).padStart(12, '0')}dpot` });
    const outcomes = await Promise.allSettled(Array.from({ length: 500 }, (_, i) => guess(i)));
    expect(depot.asked).toBe(51);
    const codes = outcomes.map((o) => (o.status === 'rejected' ? o.reason.code : ''));
    expect(new Set(codes)).toEqual(new Set(['no-such-allocation', 'too-many-requests']));
    await expect(guess(0)).rejects.toEqual(failing('no-such-allocation'));
    expect(depot.asked).toBe(51);
    pass(61_000);
    await find();
    expect(depot.asked).toBe(52);
  });

  test('many right links that are new, as after a start, wait for each other and are not refused', async () => {
    const { depot, find } = stage();
    const ids = Array.from({ length: 500 }, (_, i) => `${String(i).padStart(12, '0')}dpot`);
    for (const id of ids) depot.ids.add(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    depot.answer = promise;
    const found = ids.flatMap((id) => [find({ id }), find({ id })]);
    await settled();
    expect(depot.asked).toBe(50);
    resolve();
    expect((await Promise.all(found)).map(({ id }) => id)).toEqual(ids.flatMap((id) => [id, id]));
    expect(depot.asked).toBe(500);
  });

  test('new links do not wait one after the other for a depot that is down', async () => {
    const { depot, find } = stage();
    depot.isThere = false;
    const ids = Array.from({ length: 500 }, (_, i) => `${String(i).padStart(12, '0')}dpot`);
    const outcomes = await Promise.allSettled(ids.map((id) => find({ id })));
    const codes = outcomes.map((o) => (o.status === 'rejected' ? o.reason.code : ''));
    expect(new Set(codes)).toEqual(new Set(['depot-unreachable']));
    expect(depot.asked).toBe(50);
  });

  test('clients that guess and leave before the answer have the same limit', async () => {
    const { depot, files } = stage();
    for (let i = 0; i < 200; i++) {
      const client = new AbortController();
      const id = `${String(i).padStart(12, '0')}dpot`;
      const found = files.find({ ...LINK, id }, client.signal, () => {});
      client.abort(new MillraceError('interrupted'));
      await expect(found).rejects.toBeInstanceOf(MillraceError);
      await settled();
    }
    expect(depot.asked).toBe(50);
  });

  test('lets no client guess that has guessed too often', async () => {
    const { files, depot } = stage();
    const refuse = () => {
      throw new MillraceError('too-many-requests');
    };
    await expect(files.find(LINK, signal, refuse)).rejects.toEqual(failing('too-many-requests'));
    expect(depot.asked).toBe(0);
  });

  test('uses what it knows while the depot is silent, but not beyond the lease', async () => {
    const { depot, find, pass } = stage();
    await find();
    depot.isThere = false;
    pass(HOUR - 1);
    await find();
    pass(1);
    await expect(find()).rejects.toEqual(failing('allocation-expired'));
    depot.isThere = true;
    depot.leaseEnd += HOUR;
    await find();
  });

  test('ends readers of a file that is deleted, and no others', async () => {
    const { depot, files, find, purge, purges } = stage();
    const reader = new AbortController();
    const ended = files.use(await find(), reader);
    // An operator's purge of everything changes no file.
    await purges.purge(newPurge({ kind: 'all' }, 1), true);
    files.onPurge({ kind: 'all' });
    await settled();
    expect([depot.asked, reader.signal.aborted]).toEqual([2, false]);
    depot.has = false;
    await purge();
    await settled();
    expect(reader.signal.reason).toEqual(failing('no-such-allocation'));
    await expect(find()).rejects.toEqual(failing('no-such-allocation'));
    ended();
    await purge();
    expect(depot.asked).toBe(3);
  });

  test('asks again if the file changes while the depot is asked', async () => {
    const { depot, files, find, purge } = stage();
    const reader = new AbortController();
    files.use(await find(), reader);
    await purge();
    // The answer to this question is on its way.
    depot.has = false;
    await purge();
    await settled();
    await settled();
    expect(reader.signal.reason).toEqual(failing('no-such-allocation'));
  });

  test('does not serve a file that is deleted while the answer about it is on its way', async () => {
    const { depot, find, purge } = stage();
    const { promise, resolve } = Promise.withResolvers<void>();
    depot.answer = promise;
    const found = find();
    await settled();
    depot.has = false;
    await purge();
    resolve();
    await expect(found).rejects.toEqual(failing('no-such-allocation'));
    expect(depot.asked).toBe(2);
  });

  test('gives a client up that asks for a file whose state changes with each answer', async () => {
    const { depot, find, purge } = stage();
    depot.onAsked = purge;
    await expect(find()).rejects.toEqual(failing('depot-unreachable'));
    expect(depot.asked).toBe(5);
    depot.onAsked = async () => {};
    expect((await find()).length).toBe(10);
  });

  test('ends readers when the lease is over, unless it was extended', async () => {
    const { depot, files, find, pass } = stage();
    const reader = new AbortController();
    files.use(await find(), reader);
    pass(HOUR);
    depot.leaseEnd += HOUR;
    files.collect();
    await settled();
    expect(reader.signal.aborted).toBe(false);
    pass(HOUR);
    depot.isThere = false;
    files.collect();
    await settled();
    expect(reader.signal.reason).toEqual(failing('allocation-expired'));
  });
});
