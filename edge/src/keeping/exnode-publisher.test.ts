import { expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { silentLog } from '@millrace/shared/base/log';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { Peer } from '@millrace/shared/cdn/routing/peer';
import { EXNODE_TYPE } from '@millrace/shared/exnode/exnode';
import type { Allocation } from '../depot/allocation.ts';
import { ExnodePublisher } from './exnode-publisher.ts';

const MINUTE = 60_000;

/** A depot with allocations, and nodes that keep what they are asked to. */
function stage(types: readonly string[]) {
  const all = types.map((type, i) => {
    const final = { length: 10, sha256: `sum-${i}`, at: 0 };
    const head = { id: `id-${i}`, type, final, expiresAt: 1000, proofs: { read: 'proof' } };
    const hasType = (wanted: string) => wanted === type;
    return { head, hasType, isComplete: true, offset: 10 } as unknown as Allocation;
  });
  const nodes = { there: ['a', 'b', 'c'], failing: new Set<string>(), asked: [] as string[] };
  let now = 0;
  const find = (id: string) => all.find(({ head }) => head.id === id);
  const publisher = new ExnodePublisher({
    log: silentLog,
    now: () => now,
    depot: { allocations: all, get: find, isReady: true },
    depots: {
      keepers: () => nodes.there.map((name) => ({ name }) as Peer),
      async askToKeep({ name }, id) {
        nodes.asked.push(`${id} ${name}`);
        if (nodes.failing.has(name)) {
          throw new PeerFailure(name, new MillraceError('origin-timeout'));
        }
        return { length: 10, sha256: find(id)?.head.final?.sha256 ?? '', leftMs: 1 };
      },
    },
  });
  return {
    ...{ all, nodes, publisher },
    /** Lets time pass. @returns who was asked to keep what since */
    async after(ms: number): Promise<string[]> {
      nodes.asked = [];
      now += ms;
      publisher.beat();
      // Everything that was begun ends without waiting for anything else.
      await new Promise((resolve) => setImmediate(resolve));
      return nodes.asked.sort();
    },
  };
}

test('exNodes are published once, and nothing else is', async () => {
  const { after } = stage([EXNODE_TYPE, 'text/plain']);
  expect(await after(0)).toEqual(['id-0 a', 'id-0 b', 'id-0 c']);
  for (let i = 0; i < 10; i++) expect(await after(MINUTE)).toEqual([]);
});

test('a node that comes, or has failed, is asked, and so are all when the lease has another end', async () => {
  const { after, nodes, all } = stage([EXNODE_TYPE]);
  nodes.failing.add('b');
  await after(0);
  expect(await after(MINUTE / 2)).toEqual([]);
  nodes.failing.clear();
  expect(await after(2 * MINUTE)).toContain('id-0 b');
  expect(await after(2 * MINUTE)).toEqual([]);
  nodes.there = ['a', 'b', 'd'];
  expect(await after(MINUTE)).toContain('id-0 d');
  const [one] = all;
  if (one !== undefined) one.head = { ...one.head, expiresAt: 2000 };
  expect(await after(MINUTE)).toEqual(['id-0 a', 'id-0 b', 'id-0 d']);
});

test('thousands are published a few at a time, and all of them in the end', async () => {
  const { after } = stage(Array.from({ length: 1000 }, () => EXNODE_TYPE));
  const seen = new Set<string>();
  for (let i = 0; i < 300 && seen.size < 3000; i++) {
    const asked = await after(1000);
    expect(asked.length).toBeLessThan(100);
    for (const one of asked) seen.add(one);
  }
  expect(seen.size).toBe(3000);
});
