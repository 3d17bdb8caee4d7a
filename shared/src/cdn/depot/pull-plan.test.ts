import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ErrorCode, MillraceError } from '../../base/errors.ts';
import {
  type PullAsk,
  type PullPart,
  PullPlan,
  type PullPlanOptions,
  type PullStep,
} from './pull-plan.ts';

const MIB = 1024 * 1024;
const [A, B] = ['http://a.test/f', 'https://b.test/f'];
const one = (bytes: number, ...from: string[]) => [{ from, start: 0, bytes }];
const error = (code: ErrorCode, retryAfterMs?: number) =>
  new MillraceError(code, 'why', { retryAfterMs });

const planOf = (parts: PullPart[], stored = 0, more: Partial<PullPlanOptions> = {}) =>
  new PullPlan(parts, { stored, nameOf: (url) => url, isProved: false, ...more });
const version = (etag: string) => ({ validators: { etag }, length: 100 });

/** Returns what is asked for, as `URL start-end`; of other steps, their kinds. */
function shown(step: PullStep): string {
  if (step.kind !== 'ask') return step.kind;
  return `${step.url} ${step.range.start}-${step.range.end}`;
}

describe('PullPlan', () => {
  test('asks for the parts in order, wherever the upload stands', () => {
    const parts = [
      { from: [A], start: 100, bytes: 50 },
      { from: [B], start: 0, bytes: 30, etag: '"b"' },
    ];
    const at = (stored: number) => planOf(parts, stored).next(stored, 0);
    expect([0, 20, 50, 79, 80].map((stored) => shown(at(stored)))).toEqual([
      ...[`${A} 100-150`, `${A} 120-150`, `${B} 0-30`, `${B} 29-30`, 'complete'],
    ]);
    expect(at(60)).toMatchObject({ version: { etag: '"b"' } });
  });

  test('takes the next URL for the rest when one breaks off, and pauses once all have', () => {
    const plan = planOf(one(10, A, B));
    expect(shown(plan.next(0, 0))).toBe(`${A} 0-10`);
    plan.failed(error('origin-reset'), 4, 0);
    expect(shown(plan.next(4, 0))).toBe(`${B} 4-10`);
    plan.failed(error('origin-busy', 7000), 4, 0);
    expect(plan.next(4, 1000)).toEqual({ kind: 'wait', ms: 6000 });
    expect(shown(plan.next(4, 7000))).toBe(`${A} 4-10`);
  });

  test('never asks again where waiting cannot help, and ends with the last failure', () => {
    const plan = planOf(one(10, A, B));
    plan.failed(error('version-changed'), 0, 0);
    plan.failed(error('origin-reset'), 0, 0);
    expect(plan.next(0, 0).kind).toBe('wait');
    expect(shown(plan.next(0, 60_000))).toBe(`${B} 0-10`);
    plan.failed(error('private-address'), 0, 60_000);
    expect(() => plan.next(0, 60_000)).toThrow(
      expect.objectContaining({
        code: 'private-address',
        detail: 'why (part 1 of 1, last from b.test)',
      }),
    );
  });

  test('a URL that is out for one part may have the next', () => {
    const plan = planOf([...one(10, A, B), ...one(10, A)]);
    plan.failed(error('origin-not-found'), 0, 0);
    expect(shown(plan.next(10, 0))).toBe(`${A} 0-10`);
  });

  test('all bytes of a URL are of one version, across parts and failures', () => {
    const plan = planOf([...one(10, A, B), ...one(10, A)]);
    const ask = plan.next(0, 0) as PullAsk;
    expect(ask.version).toBeUndefined();
    plan.answered(ask, version('"1"'));
    expect(plan.next(5, 0)).toMatchObject({ version: { etag: '"1"' } });
    expect(plan.next(10, 0)).toMatchObject({ version: { etag: '"1"' } });
  });

  test('versions that prove nothing are not asked for, but known', () => {
    const plan = planOf(one(10, A));
    const answer = { validators: { weakEtag: 'W/"1"' }, length: undefined };
    plan.answered(plan.next(0, 0) as PullAsk, answer);
    expect(plan.next(5, 0)).toMatchObject({ version: undefined, seen: answer });
  });

  test('bytes that came after a URL last had the version of the file are removed, across parts', () => {
    const plan = planOf([...one(10, A, B), ...one(10, B), ...one(10, A, B)]);
    plan.answered(plan.next(0, 0) as PullAsk, version('"1"'));
    plan.failed(error('origin-reset'), 4, 0);
    plan.answered(plan.next(4, 0) as PullAsk, version('"b"'));
    const ask = plan.next(20, 0) as PullAsk;
    expect([shown(ask), ask.seen?.validators]).toEqual([`${A} 0-10`, { etag: '"1"' }]);
    expect(plan.keeps(ask, error('origin-reset'), 20, false)).toBe(20);
    expect(plan.keeps(ask, error('version-changed'), 20, false)).toBe(0);
    plan.failed(error('version-changed'), 0, 0);
    // The URL is left, for it may have now this version, now that.
    expect(shown(plan.next(0, 0))).toBe(`${B} 0-10`);
    expect(plan.next(0, 0)).toMatchObject({ seen: undefined });
    expect(shown(plan.next(20, 0))).toBe(`${B} 0-10`);
  });

  test('bytes that a later header has vouched for stay, and their version with them', () => {
    const parts = [...one(10, A), ...one(10, A), ...one(10, A)];
    const plan = planOf(parts);
    plan.answered(plan.next(0, 0) as PullAsk, version('"1"'));
    plan.answered(plan.next(10, 0) as PullAsk, version('"1"'));
    const ask = plan.next(20, 0) as PullAsk;
    expect(plan.keeps(ask, error('version-changed'), 20, false)).toBe(10);
    plan.failed(error('version-changed'), 10, 0);
    const failure = expect.objectContaining({
      ...{ code: 'version-changed', detail: 'why (part 3 of 3, last from a.test)' },
    });
    expect(() => plan.next(10, 0)).toThrow(failure);
    const next = planOf(parts, 10, { seen: plan.seen });
    expect(next.next(10, 0)).toMatchObject({ version: { etag: '"1"' } });
    // Of an upload that has lost those bytes, too, nothing is known.
    expect(planOf(parts, 0, { seen: plan.seen }).next(0, 0)).toMatchObject({ seen: undefined });
  });

  test('a URL whose file was never this version may have the next part', () => {
    const plan = planOf([...one(10, A, B), ...one(10, A)]);
    plan.failed(error('version-changed'), 0, 0);
    expect(shown(plan.next(10, 0))).toBe(`${A} 0-10`);
  });

  test('no byte of an answer that is longer than it said is kept', () => {
    const plan = planOf(one(10, A, B), 3);
    const ask = plan.next(3, 0) as PullAsk;
    plan.answered(ask, version('"1"'));
    expect(plan.keeps(ask, error('wrong-length'), 8, true)).toBe(3);
    expect(plan.keeps(ask, error('wrong-length'), 8, false)).toBe(8);
    plan.failed(error('wrong-length'), 3, 0);
    expect([shown(plan.next(3, 0)), plan.seen]).toEqual([`${B} 3-10`, []]);
  });

  test('sources that break off again and again are left after as many requests as their bytes allow', () => {
    const codes = fc.constantFrom<ErrorCode>('origin-reset', 'origin-busy', 'origin-not-found');
    const failure = fc.tuple(codes, fc.integer({ min: 0, max: 2 * MIB }));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.infiniteStream(failure), (urls, failures) => {
        const from = Array.from({ length: urls }, (_, i) => `http://s${i}.test/`);
        const bytes = 8 * MIB;
        const plan = planOf(one(bytes, ...from));
        let [stored, now, asked] = [0, 0, 0];
        const run = () => {
          for (;;) {
            const step = plan.next(stored, now);
            if (step.kind === 'complete') return 'complete';
            if (step.kind === 'wait') {
              expect(step.ms).toBeLessThanOrEqual(30_000);
              now += step.ms;
              continue;
            }
            // Four rounds of all URLs at the start, and after each MiB.
            expect(++asked).toBeLessThanOrEqual((bytes / MIB + 1) * 4 * urls);
            expect(step.range).toEqual({ start: stored, end: bytes });
            const [code, more] = failures.next().value as [ErrorCode, number];
            stored = Math.min(bytes, stored + more);
            if (stored < bytes) plan.failed(error(code), stored, now);
          }
        };
        let ended: unknown;
        try {
          ended = run();
        } catch (thrown) {
          if (!(thrown instanceof MillraceError)) throw thrown;
          ended = thrown.detail;
        }
        expect(ended).toMatch(stored === bytes ? /^complete$/ : /\(part 1 of 1, last from s/);
      }),
      { numRuns: 300 },
    );
  });
});
