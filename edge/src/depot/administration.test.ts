import { describe, expect, test } from '@jest/globals';
import { silentLog } from '@millrace/shared/base/log';
import { DepotAdministration } from './administration.ts';
import type { Allocation } from './allocation.ts';
import type { Depot } from './depot.ts';

/** A depot in memory with complete files, each with content of its own. */
function stage(count: number) {
  const blocked = new Set<string>();
  const all = new Map<string, Allocation>();
  for (let i = 0; i < count; i++) {
    const id = String(i).padStart(16, '0');
    const final = { length: 1, sha256: i.toString(16).padStart(64, '0'), at: 0 };
    const head = { id, owner: 'alice', final };
    all.set(id, { head, offset: 1, endReaders() {} } as unknown as Allocation);
  }
  const depot = {
    get allocations() {
      return all.values();
    },
    get: (id: string) => all.get(id),
    async end({ head }: Allocation) {
      all.delete(head.id);
    },
    async tell() {},
    blocked: {
      has: (digest: string) => blocked.has(digest),
      async set(digests: readonly string[], isBlocked: boolean) {
        for (const one of digests) isBlocked ? blocked.add(one) : blocked.delete(one);
      },
    },
  } as unknown as Depot;
  return { blocked, all, administration: new DepotAdministration(depot, silentLog) };
}

describe('DepotAdministration', () => {
  test.each([
    ['blocks', { remove: false, block: true }, [2500, 2500]],
    ['blocks and deletes', { remove: true, block: true }, [0, 2500]],
    ['deletes', { remove: true, block: undefined }, [0, 0]],
  ])(
    '%s more files than one request changes, with the same request again',
    async (_, change, [left, digests]) => {
      const { administration, all, blocked } = stage(2500);
      const take = () => administration.take({ owner: 'alice' }, change);
      expect([(await take()).left, (await take()).left, (await take()).left]).toEqual([
        1500, 500, 0,
      ]);
      expect([all.size, blocked.size]).toEqual([left, digests]);
    },
  );

  test('takes the blocks of as many files back', async () => {
    const { administration, blocked } = stage(1500);
    const take = (block: boolean) =>
      administration.take({ owner: 'alice' }, { remove: false, block });
    for (const block of [true, true, false]) await take(block);
    expect(blocked.size).toBe(500);
    expect((await take(false)).left).toBe(0);
    expect(blocked.size).toBe(0);
  });

  test('refuses a request that says what, but not what for: the log would call it a change', async () => {
    const { administration } = stage(1);
    const nothing = administration.take({ owner: 'alice' }, { remove: false, block: undefined });
    await expect(nothing).rejects.toMatchObject({ code: 'bad-option' });
  });
});
