import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  addressOf,
  counts,
  exnodeOf,
  MIB,
  named,
  replicaAt,
  STATES,
  shapes,
  stored,
} from '../../testing/draws/stored-exnodes.ts';
import { seededRandom } from '../base/clock.ts';
import { Augmentation, type Fill } from './augment.ts';
import { lostShards, shardBytes } from './coded.ts';
import type { CodedExtent, Exnode, ExnodeReplica } from './exnode.ts';
import type { Finding, ReplicaState } from './findings.ts';
import { depotOf } from './layout.ts';
import { allReplicas } from './replicas.ts';

const LOST: readonly (ReplicaState | undefined)[] = ['expired', 'gone', 'short', 'damaged'];

describe('an augmentation', () => {
  test('gives each extent as many replicas as asked for, each at another depot, or tells how many depots lack', () => {
    let [whole, short] = [0, 0];
    fc.assert(
      fc.property(shapes, counts, named, fc.integer(), (places, copies, depots, seed) => {
        const { exnode, findings } = stored(places);
        const random = seededRandom(seed);
        const plan = new Augmentation(exnode, findings, copies, depots.map(addressOf));
        const stateOf = (replica: ExnodeReplica) => findings.get(replica)?.state;
        const wrong = new Set<ExnodeReplica>();
        const failed = new Set<string>();
        const done = new Set<Fill>();
        plan.place();
        const anyOf = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
        const good = allReplicas(exnode)
          .map(({ replica }) => replica)
          .filter((replica) => stateOf(replica) === 'there');
        for (const underWay = new Set<Fill>(); depots.length > 0; ) {
          const waits = plan.fills.some((fill) => !done.has(fill) && !underWay.has(fill));
          if (underWay.size === 0 && !waits) break;
          const begun = plan.next(addressOf(anyOf(depots)));
          if (begun !== undefined) underWay.add(begun);
          const fill = anyOf([...underWay]);
          if (fill === undefined) continue;
          expect(failed).not.toContain(fill.depot);
          const fate = random();
          if (fate < 0.6) {
            underWay.delete(fill);
            done.add(fill);
          } else if (fate < 0.7) {
            for (const own of [...underWay].filter(({ depot }) => depot === fill.depot)) {
              plan.onGivenUp(own);
              underWay.delete(own);
            }
            failed.add(fill.depot);
            plan.onDepotFailed(fill.depot);
            plan.place();
          } else if (fate < 0.8 && good.length > 0) {
            const source = anyOf(good);
            wrong.add(source);
            plan.onWrong(source);
            plan.place();
          }
        }
        // The rule once more, extent by extent.
        let most = 0;
        for (const extent of exnode.extents) {
          const { start, replicas } = extent;
          const its = plan.fills.filter((fill) => fill.start === start);
          const right = replicas.filter((one) => stateOf(one) === 'there' && !wrong.has(one));
          const holders = [...right.map(depotOf), ...its.map(({ depot }) => depot)];
          expect(new Set(holders).size).toBe(holders.length);
          expect(its.every((fill) => done.has(fill))).toBe(true);
          const isMissing = plan.missing.some((range) => range.start === start);
          expect(isMissing).toBe(right.length === 0);
          // Nothing that may be right is doubled at its depot.
          for (const replica of replicas) {
            if (LOST.includes(stateOf(replica)) && !wrong.has(replica)) continue;
            expect(its.map(({ depot }) => depot)).not.toContain(depotOf(replica));
          }
          if (isMissing) continue;
          expect(its.length === 0 || holders.length <= copies).toBe(true);
          most = Math.max(most, copies - holders.length);
          const free = depots
            .map(addressOf)
            .filter((depot) => !failed.has(depot) && !holders.includes(depot))
            .filter((depot) => !replicas.some((one) => isKept(one) && depotOf(one) === depot));
          expect(holders.length >= copies || free.length === 0).toBe(true);
        }
        function isKept(replica: ExnodeReplica) {
          return wrong.has(replica) || !LOST.includes(stateOf(replica));
        }
        expect(plan.shortage?.depots ?? 0).toBe(most);
        if (most > 0) short++;
        else if (done.size > 0) whole++;
      }),
      { numRuns: 1000 },
    );
    expect([whole > 50, short > 50]).toEqual([true, true]);
  });

  test('says at first how many depots lack, and where', () => {
    const { exnode, findings } = stored([
      [[0, 'there']],
      [
        [0, 'there'],
        [1, 'silent'],
      ],
    ]);
    const plan = new Augmentation(exnode, findings, 4, [addressOf(0), addressOf(1), addressOf(2)]);
    // A silent depot may have its replica still.
    expect(plan.shortage).toEqual({ depots: 2, range: { start: MIB, end: 2 * MIB } });
    const few = new Augmentation(exnode, findings, 1, []);
    few.place();
    expect([few.shortage, few.fills]).toEqual([undefined, []]);
  });

  test('goes on with the replicas of an earlier run, and gives up those that are too many', () => {
    const { exnode, findings } = stored([
      [
        [0, 'there'],
        [1, 'gone'],
      ],
    ]);
    const plan = new Augmentation(exnode, findings, 2, [1, 2].map(addressOf));
    const range = { start: 0, end: MIB };
    expect(plan.resume(range, addressOf(0))).toBeUndefined();
    expect(plan.resume({ start: 0, end: 5 }, addressOf(3))).toBeUndefined();
    const begun = plan.resume(range, addressOf(3));
    expect(begun).toMatchObject({ ...range, depot: addressOf(3) });
    expect(plan.resume(range, addressOf(4))).toBeUndefined();
    plan.place();
    expect(plan.fills).toEqual([begun]);
    plan.onGivenUp(begun as Fill);
    plan.place();
    // The depot that has lost it comes after the one that never had it.
    expect(plan.fills).toMatchObject([{ ...range, depot: addressOf(2) }]);
  });

  test('copies from replicas that it has stored, also where nothing else was left', () => {
    const { exnode, findings } = stored([[[0, 'gone']]]);
    const plan = new Augmentation(exnode, findings, 2, [1, 2].map(addressOf));
    const range = { start: 0, end: MIB };
    const begun = plan.resume(range, addressOf(3)) as Fill;
    expect([plan.missing, plan.shortage]).toEqual([[range], undefined]);
    const replica = replicaAt(3);
    plan.onStored(begun, replica);
    plan.place();
    expect([plan.missing, plan.sources(range)]).toEqual([[], [replica]]);
    expect(plan.fills).toMatchObject([begun, { ...range, depot: addressOf(1) }]);
    plan.onWrong(replica);
    expect([plan.missing, plan.fills.length]).toEqual([[range], 1]);
  });

  test('takes two names of one depot for one, once the depot has told the other', () => {
    const { exnode, findings } = stored([[[0, 'there']]]);
    const names = ['http://inside.example', addressOf(5)];
    const plan = new Augmentation(exnode, findings, 2, names);
    plan.place();
    const fill = plan.next('http://inside.example') as Fill;
    expect(plan.onAllocated(fill, addressOf(0))).toBe(false);
    plan.place();
    const other = plan.next(addressOf(5)) as Fill;
    expect(plan.onAllocated(other, addressOf(5))).toBe(true);
    expect(plan.fills).toEqual([other]);
  });

  test('asks a silent depot last', () => {
    const other = [0, 'there'] as const;
    const { exnode, findings } = stored([
      [other, [1, 'silent']],
      [other, [2, 'gone']],
    ]);
    const plan = new Augmentation(exnode, findings, 2, [1, 2].map(addressOf));
    plan.place();
    expect(plan.fills.map(({ depot }) => depot)).toEqual([addressOf(2), addressOf(2)]);
  });

  test('spreads what is copied over the depots, and over the sources', () => {
    const { exnode, findings } = stored(
      Array(6).fill([
        [0, 'there'],
        [1, 'there'],
      ]),
    );
    const plan = new Augmentation(exnode, findings, 3, [2, 3, 4].map(addressOf));
    plan.place();
    const byDepot = Map.groupBy(plan.fills, ({ depot }) => depot);
    expect([...byDepot.values()].map(({ length }) => length)).toEqual([2, 2, 2]);
    const range = { start: 0, end: MIB };
    const [first, second] = plan.sources(range) as [ExnodeReplica, ExnodeReplica];
    plan.onUsed(first);
    expect(plan.sources(range)).toEqual([second, first]);
    plan.onWrong(second);
    expect(plan.sources(range)).toEqual([first]);
  });

  test('does not let an exNode grow beyond what can be read again', () => {
    const replicas = Array.from({ length: 64 }, (_, i) => replicaAt(i));
    const findings = new Map(replicas.map((one, i) => [one, { state: i ? 'gone' : 'there' }]));
    const exnode = exnodeOf([{ start: 0, end: MIB, replicas }]);
    const make = (copies: number) =>
      new Augmentation(exnode, findings as Map<ExnodeReplica, Finding>, copies, [addressOf(70)]);
    expect(() => make(2)).toThrow(expect.objectContaining({ code: 'bad-exnode' }));
    expect(make(1).fills).toEqual([]);
  });
});

describe('an augmentation of coded extents', () => {
  const extents = fc.array(
    fc.record({
      data: fc.integer({ min: 1, max: 4 }),
      parity: fc.integer({ min: 1, max: 3 }),
      blocks: fc.integer({ min: 1, max: 9 }),
      states: fc.array(fc.constantFrom(...STATES), { minLength: 7, maxLength: 7 }),
      first: fc.nat(11),
    }),
    { minLength: 1, maxLength: 4 },
  );

  test('rebuilds each lost shard once, where no other shard of its extent is', () => {
    let [rebuilt, hopeless] = [0, 0];
    fc.assert(
      fc.property(extents, fc.subarray([...Array(12).keys()]), (shapes, named) => {
        const findings = new Map<ExnodeReplica, Finding>();
        let size = 0;
        const coded = shapes.map(({ data, parity, blocks, states, first }): CodedExtent => {
          const range = { start: size, end: size + blocks * MIB };
          size = range.end;
          const layout = { ...range, data, parity, unit: MIB, parityHexes: [] };
          const shards = Array.from({ length: data + parity }, (_, i) => {
            if (shardBytes(layout, i) === 0) return [];
            const replica = replicaAt((first + i) % 12);
            findings.set(replica, { state: states[i] as ReplicaState });
            return [replica];
          });
          return { ...layout, shards };
        });
        const isThere = (replica: ExnodeReplica) => findings.get(replica)?.state === 'there';
        const plan = new Augmentation(
          ...([{ ...exnodeOf([]), size, coded }, findings, 1, named.map(addressOf)] as const),
        );
        const { shortage } = plan;
        plan.place();
        for (const extent of coded) {
          const lost = lostShards([extent], isThere).map(({ index }) => index);
          const fills = plan.fills.filter(({ start }) => start === extent.start);
          const shards = fills.map(({ shard }) => shard);
          expect(new Set(shards).size).toBe(shards.length);
          expect(lost).toEqual(expect.arrayContaining(shards));
          const at = [
            ...extent.shards.flat().filter(isThere).map(depotOf),
            ...fills.map(({ depot }) => depot),
          ];
          expect(new Set(at).size).toBe(at.length);
          for (const { shard = 0, bytes } of fills) expect(bytes).toBe(shardBytes(extent, shard));
          const isHopeless = lost.length > extent.parity;
          if (isHopeless) expect(fills).toEqual([]);
          else if (shortage === undefined) expect(fills.length).toBe(lost.length);
          rebuilt += fills.length;
          hopeless += Number(isHopeless);
          const isMissing = plan.missing.some(
            ({ start }) => extent.start <= start && start < extent.end,
          );
          expect(isMissing).toBe(isHopeless && lost.some((index) => index < extent.data));
        }
      }),
    );
    expect([rebuilt > 50, hopeless > 20]).toEqual([true, true]);
  });

  test('copies a data shard where a plain extent has its bytes, however many shards are lost', () => {
    const copy = replicaAt(9);
    const extent = { start: 0, end: 2 * MIB, data: 2, parity: 1, unit: MIB, parityHexes: [] };
    const exnode: Exnode = {
      ...exnodeOf([{ start: 0, end: 2 * MIB, replicas: [copy] }]),
      coded: [{ ...extent, shards: [[], [], []] }],
    };
    const plan = new Augmentation(
      ...([exnode, new Map([[copy, { state: 'there' } as Finding]]), 1] as const),
      [0, 1, 2].map(addressOf),
    );
    plan.place();
    expect(plan.fills.map(({ shard }) => shard)).toEqual([0, 1]);
    plan.onWrong(copy);
    expect(plan.missing).toEqual([
      { start: 0, end: 2 * MIB },
      { start: 0, end: MIB },
      { start: MIB, end: 2 * MIB },
    ]);
  });
});
