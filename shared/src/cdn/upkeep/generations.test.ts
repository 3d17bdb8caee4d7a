import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Generations, MAX_PURGE_CHARS, MAX_PURGES } from './generations.ts';
import { type PurgeTarget, prefixesOf } from './purge-target.ts';

const file = (url: string): PurgeTarget => ({ kind: 'url', url });
const A = 'https://a.example/x/file';
const B = 'https://b.example/x/file';
/** Beginning of the tag of content that was requested by its digest. */
const DIGEST = `d.${'a1'.repeat(32)}`;

describe('Generations', () => {
  test('entries stored before a purge are void, entries stored after it are not', () => {
    const generations = new Generations();
    const before = generations.current;
    generations.purge(file(A), 'id-1');
    expect(generations.isVoid(A, 'e.1', before)).toBe(true);
    expect(generations.isVoid(B, 'e.1', before)).toBe(false);
    expect(generations.isVoid(A, 'e.1', generations.current)).toBe(false);
  });

  test.each<[PurgeTarget, string, string | undefined, boolean]>([
    [{ kind: 'version', url: A, tag: 'e.1' }, A, 'e.1', true],
    [{ kind: 'version', url: A, tag: 'e.1' }, A, 'e.2', false],
    [{ kind: 'version', url: A, tag: 'e.1' }, A, undefined, false],
    [{ kind: 'version', url: A, tag: 'e.1' }, A, `${DIGEST}.e.1`, true],
    [{ kind: 'version', url: A, tag: 'e.1' }, A, `${DIGEST}.e.2`, false],
    [{ kind: 'version', url: A, tag: 'e.1' }, A, DIGEST, false],
    [{ kind: 'prefix', prefix: 'https://a.example/x/' }, A, 'e.1', true],
    [{ kind: 'prefix', prefix: 'https://a.example/' }, A, undefined, true],
    [{ kind: 'prefix', prefix: 'https://a.example/y/' }, A, 'e.1', false],
    [{ kind: 'prefix', prefix: 'https://a.example/' }, B, 'e.1', false],
    [{ kind: 'all' }, B, undefined, true],
  ])('%j and %s of %s: %s', (target, url, tag, isVoid) => {
    const generations = new Generations();
    generations.purge(target, 'id-1');
    expect(generations.isVoid(url, tag, 0)).toBe(isVoid);
    expect(generations.covering(url, tag)).toHaveLength(isVoid ? 1 : 0);
  });

  test('a purge of a label makes files with it void, and those whose labels are lost', () => {
    const generations = new Generations();
    generations.purge({ kind: 'label', label: 'a' }, 'id-1');
    const between = generations.current;
    generations.purge({ kind: 'label', label: 'b' }, 'id-2');
    const isVoid = (labels: string[], at: number) => generations.isVoidByLabel(() => labels, at);
    expect([['a'], ['b'], ['x', 'b'], ['*'], ['c'], []].map((l) => isVoid(l, 0))).toEqual([
      ...[true, true, true, true, false, false],
    ]);
    expect([['a'], ['b'], ['*']].map((l) => isVoid(l, between))).toEqual([false, true, true]);
    expect(isVoid(['b', '*'], generations.current)).toBe(false);
    // Chunks and files without labels are as they were; but no question joins one from before.
    expect(generations.isVoid(A, 'e.1', 0)).toBe(false);
    expect([generations.newest(A, undefined), generations.newestForUnknown(A)]).toEqual([0, 2]);
  });

  test('a label in a full table becomes a purge of everything', () => {
    const generations = new Generations({ maxPurges: 4 });
    for (let i = 0; i < 5; i++) generations.purge({ kind: 'label', label: `l${i}` }, `id-${i}`);
    expect(generations.isVoid(B, undefined, 0)).toBe(true);
    expect(generations.isVoidByLabel(() => ['l4'], generations.current - 1)).toBe(true);
    expect(generations.isVoid(B, undefined, generations.current)).toBe(false);
  });

  test('an id that has been carried out changes nothing', () => {
    const generations = new Generations();
    generations.purge(file(A), 'id-1');
    const { current } = generations;
    expect(generations.purge(file(A), 'id-1')).toBeUndefined();
    expect(generations.current).toBe(current);
    expect(generations.isVoid(A, 'e.1', current)).toBe(false);
  });

  test('a purge of everything is forgotten only when a later one replaces it', () => {
    const generations = new Generations();
    generations.purge({ kind: 'all' }, 'id-1');
    const between = generations.current;
    generations.purge({ kind: 'all' }, 'id-2');
    generations.restore({ target: { kind: 'all' }, id: 'id-0', generation: 1 });
    expect(generations.isVoid(A, undefined, between)).toBe(true);
  });

  test('a full table purges more, never less: folders, hosts, everything', () => {
    const generations = new Generations({ maxPurges: 8 });
    const before = generations.current;
    for (let i = 0; i < 9; i++) generations.purge(file(`https://a.example/x/${i}`), `a-${i}`);
    expect(generations.count).toBeLessThanOrEqual(6);
    // The folder of the older half is purged; the younger purges stay as they are.
    expect(generations.isVoid(A, undefined, before)).toBe(true);
    expect(generations.isVoid('https://a.example/y/file', undefined, before)).toBe(false);
    expect(generations.isVoid('https://a.example/x/8', undefined, before)).toBe(true);
    for (let i = 0; i < 100; i++) generations.purge(file(`https://host-${i}.example/`), `b-${i}`);
    expect(generations.count).toBeLessThanOrEqual(8);
    expect(generations.isVoid('https://never.purged.example/', undefined, before)).toBe(true);
    expect(generations.isVoid(A, undefined, generations.current)).toBe(false);
  });

  test('six times the purges that a table holds take bounded memory, and a look-up takes few steps', () => {
    const generations = new Generations();
    const count = 6 * MAX_PURGES;
    const looked: string[] = [];
    for (let i = 0; i < count; i++) {
      const url = `https://host-${i % 10}.example/folder-${i % 100}/${i}`;
      generations.purge(file(url), `id-${i}`);
      if (i % (count / 10) === 0) looked.push(url);
    }
    expect(generations.count).toBeLessThanOrEqual(MAX_PURGES);
    const chars = [...generations.purges()].reduce((sum, p) => sum + JSON.stringify(p).length, 0);
    expect(chars).toBeLessThan(3 * MAX_PURGE_CHARS);
    for (const url of looked) {
      expect(generations.isVoid(url, undefined, 0)).toBe(true);
      expect(generations.covering(url, undefined).length).toBeLessThanOrEqual(4);
    }
  });

  test('long URLs are bounded in characters', () => {
    const generations = new Generations({ maxChars: 10_000 });
    for (let i = 0; i < 50; i++) {
      generations.purge(file(`https://a.example/${i}/${'x'.repeat(3000)}`), `id-${i}`);
    }
    const chars = [...generations.purges()].reduce((sum, p) => sum + JSON.stringify(p).length, 0);
    expect(chars).toBeLessThan(20_000);
    expect(generations.isVoid('https://a.example/0/y', undefined, 0)).toBe(true);
  });
});

/** The reference model: remembers every purge and looks through all of them. */
class Obvious {
  readonly #purges: { readonly target: PurgeTarget; readonly at: number }[] = [];

  purge(target: PurgeTarget, at: number): void {
    this.#purges.push({ target, at });
  }

  isVoid(url: string, tag: string, at: number): boolean {
    return this.#purges.some(
      ({ target: t, at: purgedAt }) =>
        purgedAt > at &&
        (t.kind === 'all' ||
          (t.kind === 'prefix' && url.startsWith(t.prefix)) ||
          (t.kind === 'url' && t.url === url) ||
          (t.kind === 'version' && t.url === url && t.tag === tag)),
    );
  }
}

const url = fc
  .tuple(fc.constantFrom('a', 'b', 'c'), fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }))
  .map(([host, path]) => `https://${host}.example/${path.join('/')}`);
const tag = fc.constantFrom('e.1', 'e.2');
const target: fc.Arbitrary<PurgeTarget> = fc.oneof(
  { weight: 5, arbitrary: url.map(file) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('version' as const), url, tag }) },
  {
    weight: 3,
    arbitrary: url.map((u) => ({
      kind: 'prefix' as const,
      prefix: prefixesOf(u).at(-1) as string,
    })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'all' as const }) },
);
const step = fc.oneof(fc.record({ purge: target }), fc.record({ store: fc.record({ url, tag }) }));

test('with room, exactly the covered entries are void; without, perhaps more', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 6 }), (steps, max) => {
      const roomy = new Generations();
      const tight = new Generations({ maxPurges: max });
      const obvious = new Obvious();
      const stored: { url: string; tag: string; roomy: number; tight: number; at: number }[] = [];
      for (const [at, s] of steps.entries()) {
        if ('store' in s) {
          stored.push({ ...s.store, roomy: roomy.current, tight: tight.current, at });
        } else {
          roomy.purge(s.purge, `id-${at}`);
          tight.purge(s.purge, `id-${at}`);
          obvious.purge(s.purge, at);
        }
        expect(tight.count).toBeLessThanOrEqual(max + 1);
        for (const entry of stored) {
          const isVoid = obvious.isVoid(entry.url, entry.tag, entry.at);
          const inRoomy = roomy.isVoid(entry.url, entry.tag, entry.roomy);
          const inTight = tight.isVoid(entry.url, entry.tag, entry.tight);
          // Compared without the framework: there are very many of them.
          if (inRoomy !== isVoid || (isVoid && !inTight)) {
            throw new Error(`${JSON.stringify(entry)}: ${isVoid}, ${inRoomy}, ${inTight}`);
          }
        }
      }
    }),
  );
});

test('restored purges cover the same after a restart', () => {
  fc.assert(
    fc.property(fc.array(target, { maxLength: 30 }), url, tag, (targets, asked, askedTag) => {
      const first = new Generations({ maxPurges: 5 });
      for (const [i, t] of targets.entries()) first.purge(t, `id-${i}`);
      const second = new Generations({ maxPurges: 5 });
      for (const purge of [...first.purges()]) second.restore(purge);
      expect(second.newest(asked, askedTag)).toBe(first.newest(asked, askedTag));
      expect(second.current).toBe(first.current);
    }),
  );
});
