/** The edge against every fault of an origin: the right bytes or a clean error, never a hang. */

import { afterAll, describe, expect, test } from '@jest/globals';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { classOf, FAULT_NAMES } from '../fixtures/faults.ts';
import { type Fetched, fetchAll } from '../fixtures/http-client.ts';
import { EdgeProcess } from '../fixtures/processes.ts';

/** What a client must get; where several are possible, the better ones first. */
type Outcome = 'bytes' | 'reset' | number;

/**
 * Faults that are not in this list must not keep the client from the right bytes. A reset is the
 * only honest answer where the fault shows itself after the body has begun.
 */
const EXPECTED: Readonly<Record<string, readonly Outcome[]>> = {
  'ranges-ignored-later': ['bytes', 'reset'],
  'wrong-start': [502],
  'wrong-end': [502],
  'wrong-start-later': ['reset'],
  'wrong-total': ['reset'],
  'unknown-length': ['bytes'],
  'two-content-ranges': [502],
  'malformed-content-range': [502],
  'multipart-for-one-range': [502],
  'unsatisfiable-always': [502, 403],
  'short-length': [502],
  'long-body': [502],
  'reset-at-once': [502],
  'close-before-header': [502],
  'stall-body': ['bytes', 'reset', 504],
  'stall-header': [504],
  gzip: [502],
  'gzip-whole': [502],
  'chunked-broken': ['reset'],
  'changed-in-the-middle': ['reset'],
  'changed-dates-only': ['reset'],
  'changes-always': ['reset', 502],
  'conditions-ignored': ['reset'],
  'etag-missing-later': ['reset'],
  'not-found': [404],
  gone: [410],
  forbidden: [403],
  'server-error': [502],
  'busy-429': ['bytes', 503],
  'busy-for-ever': [503],
  'strange-status': [502],
  'redirect-loop': [502],
  'redirect-to-file': [502],
  'redirect-nowhere': [502],
  garbage: [502],
  'two-lengths': [502],
  'length-and-chunked': [502],
  'endless-header': [502],
  // What a download gets over, with more patience than an edge may ask of its clients
  'server-error-first': [502],
  'refused-at-first': [403, 502],
  'unsatisfiable-once': ['bytes', 'reset'],
  'not-found-later': ['reset', 404],
  'expired-link': ['reset', 403],
  // What an edge takes from no origin
  'multipart-later': ['reset'],
  'continue-unasked': [502],
  refused: [403, 502],
  // Damaged chunks are fetched again; how often depends on which answers are the damaged ones.
  'bit-flips-digest': ['bytes', 'reset', 502],
  'busy-absurd': [503],
};

/** Chunks never come whole; until the edge gives them up 40 seconds pass. */
const SLOW: ReadonlySet<string> = new Set(['close-delimited-ranges-cut']);
const NAMES = FAULT_NAMES.filter((name) => classOf(name) !== 'silent' && !SLOW.has(name));

function expected(fault: string): readonly Outcome[] {
  const listed = EXPECTED[fault];
  if (listed !== undefined) return listed;
  const kind = classOf(fault);
  if (kind === 'either') return ['bytes', 'reset', 502];
  // These two are digests of the whole, which an edge never sees.
  const whole = fault === 'repr-digest-wrong' || fault === 'digest-wrong';
  return kind === 'fatal-alone' && !whole ? ['reset', 502] : ['bytes'];
}

const origin = await FaultOrigin.start();

const edge = await EdgeProcess.start([
  '--allow-origin',
  '127.0.0.1',
  '--chunk-size',
  '256KiB',
  '--origin-timeout',
  '3s',
]);

afterAll(async () => {
  await edge.stop();
  await origin.stop();
});

/** Classifies what came; wrong bytes are no outcome at all. */
function outcomeOf(got: Fetched | undefined, digests: readonly string[]): Outcome | 'wrong bytes' {
  if (got === undefined || !got.complete) return 'reset';
  if (got.status >= 400) {
    expect(got.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(got.body.toString())).toMatchObject({ status: got.status });
    return got.status;
  }
  return digests.includes(got.digest) ? 'bytes' : 'wrong bytes';
}

/** Whole versions of the file: any one of them is right, a mixture never is. */
function versions(url: string, count: number): string[] {
  if (new URL(url).pathname.startsWith('/empty/'))
    return [origin.digest(url.replace(/size=\d+/, 'size=0'))];
  return Array.from({ length: count }, (_, i) => origin.digest(url, i + 1));
}

describe('a client that fetches the whole file', () => {
  test.concurrent.each(NAMES)('%s', async (fault) => {
    const url = origin.url(fault);
    const got = await fetchAll(edge.prefixed(url)).catch(() => undefined);
    expect(expected(fault)).toContain(outcomeOf(got, versions(url, 8)));
  });
});

describe('a client that resumes at an offset', () => {
  test.concurrent.each(NAMES)('%s', async (fault) => {
    const url = origin.url(fault, { seed: `${fault}-resume` });
    const offset = 700_001;
    const got = await fetchAll(edge.prefixed(url), {
      headers: { range: `bytes=${offset}-` },
    }).catch(() => undefined);
    if (got?.status !== 206 || !got.complete) {
      const whole = expected(fault);
      // What shows only after the body has begun may show before it here.
      const allowed = [...whole, 416, ...(whole.includes('reset') ? [502] : [])];
      expect(allowed).toContain(outcomeOf(got, versions(url, 8)));
      return;
    }
    const rests = Array.from({ length: 8 }, (_, i) => origin.content(url, i + 1).subarray(offset));
    expect(rests.some((rest) => rest.equals(got.body))).toBe(true);
  });
});
