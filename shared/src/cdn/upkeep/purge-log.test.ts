import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LoggedPurge, NOTHING_DROPPED, PurgeLog } from './purge-log.ts';

const purge = (at: number, id = `id-${at}`): LoggedPurge => ({
  at,
  id,
  target: { kind: 'url', url: `https://a.example/${at}` },
});

const logOf = (ats: readonly number[], maxPurges = 100) => {
  const log = new PurgeLog({ maxPurges });
  for (const at of ats) log.add(purge(at));
  return log;
};

const idsIn = (log: PurgeLog) => log.snapshot.purges.map(({ id }) => id);

describe('PurgeLog', () => {
  test('a node that was away gets what it missed, and no more', () => {
    const [here, away] = [logOf([1, 2, 3, 4]), logOf([1, 3])];
    expect(away.digest).not.toBe(here.digest);
    const { purges, all } = away.merge(here.snapshot);
    expect(purges.map(({ at }) => at)).toEqual([2, 4]);
    expect(all).toBe(false);
    expect(away.digest).toBe(here.digest);
  });

  test('a node that missed more than the log holds purges everything, once', () => {
    const here = logOf([1, 2, 3, 4, 5, 6], 3);
    const away = logOf([1], 3);
    expect(away.merge(here.snapshot)).toMatchObject({ all: true });
    expect(away.digest).toBe(here.digest);
    expect(away.merge(here.snapshot)).toEqual({ purges: [], all: false });
  });

  test('a node that heard of each purge in time purges nothing more, though others dropped some', () => {
    const here = logOf([1, 2, 3, 4, 5], 3);
    const there = logOf([1, 2, 3, 4], 3);
    expect(there.merge(here.snapshot)).toMatchObject({ all: false, purges: [{ at: 5 }] });
    expect(there.digest).toBe(here.digest);
  });

  test('is bounded in characters as well', () => {
    const log = new PurgeLog({ maxChars: 1000 });
    for (let at = 1; at < 100; at++) log.add(purge(at));
    const { purges, dropped } = log.snapshot;
    expect(JSON.stringify(purges).length).toBeLessThan(4000);
    expect(purges.at(-1)?.at).toBe(99);
    expect(dropped.at).toBe((purges[0] as LoggedPurge).at - 1);
  });

  test('an old purge is not added again behind the dropped ones', () => {
    const log = logOf([1, 2, 3], 2);
    log.add(purge(1));
    expect(idsIn(log)).toEqual(['id-2', 'id-3']);
    expect(log.snapshot.dropped).not.toEqual(NOTHING_DROPPED);
  });
});

const order = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 40 });

test('nodes agree once each has read the logs of the others, and none misses a purge', () => {
  fc.assert(
    fc.property(
      fc.array(order, { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 1, max: 8 }),
      (all, max) => {
        const nodes = all.map((ats) => ({
          log: logOf(ats, max),
          known: new Set(ats),
          purgedAll: false,
        }));
        const everything = new Set(all.flat());
        for (let round = 0; round < 4; round++) {
          for (const reader of nodes) {
            for (const { log } of nodes) {
              if (log === reader.log || log.digest === reader.log.digest) continue;
              const merged = reader.log.merge(log.snapshot);
              for (const { at } of merged.purges) reader.known.add(at);
              reader.purgedAll ||= merged.all;
            }
          }
        }
        expect(new Set(nodes.map(({ log }) => log.digest)).size).toBe(1);
        expect(new Set(nodes.map(({ log }) => idsIn(log).join())).size).toBe(1);
        // A purge that any log holds is known to every node.
        for (const { known, purgedAll } of nodes) {
          for (const at of [...everything].sort((a, b) => b - a).slice(0, max)) {
            expect(purgedAll || known.has(at)).toBe(true);
          }
        }
      },
    ),
  );
});
