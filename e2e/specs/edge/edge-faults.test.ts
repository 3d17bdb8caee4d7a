/** The edge against every fault of an origin: the right bytes or a clean error, never a hang. */

import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { atATime } from '../../fixtures/at-a-time.ts';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { classOf, FAULT_NAMES, UNSEEN_BY_EDGES } from '../../fixtures/faults/faults.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';

/** Outcome that a client must get. A list of possible ones starts with the best. */
type Outcome = 'bytes' | 'reset' | number;

/**
 * Outcomes of a fault in a later chunk. Once the body has begun, a reset is the only honest answer.
 * On a busy machine the later chunk may fail before the first is whole, and a clear error comes.
 */
const LATER: readonly Outcome[] = [502, 'reset'];

/** Outcomes of faults by name. For a fault that is not listed, its class decides: `expected`. */
const EXPECTED: Readonly<Record<string, readonly Outcome[]>> = {
  'ranges-ignored-later': ['bytes', ...LATER],
  'wrong-start': [502],
  'wrong-end': [502],
  'wrong-start-later': LATER,
  'wrong-total': LATER,
  'unknown-length': ['bytes'],
  'two-content-ranges': [502],
  'malformed-content-range': [502],
  'multipart-for-one-range': [502],
  'unsatisfiable-always': [502, 403],
  'unsatisfiable-ranges': [502, 403],
  'short-length': [502],
  'long-body': [502],
  'reset-at-once': [502],
  'close-before-header': [502],
  'stall-body': ['bytes', 'reset', 504],
  'close-delimited-ranges-cut': ['reset', 502, 504],
  'stall-header': [504],
  // The whole encoded body, with its coding: a client gets the bytes that the origin sends to all.
  gzip: ['bytes'],
  'gzip-whole': ['bytes'],
  'chunked-broken': ['reset'],
  'changed-in-the-middle': LATER,
  'changed-dates-only': LATER,
  'changes-always': ['reset', 502],
  'conditions-ignored': LATER,
  'etag-missing-later': LATER,
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
  // Faults that a download overcomes, with more patience than an edge may ask of its clients.
  'server-error-first': [502],
  'refused-at-first': [403, 502],
  'unsatisfiable-once': ['bytes', 'reset'],
  'not-found-later': ['reset', 404],
  'expired-link': ['reset', 403],
  // Answers that an edge accepts from no origin.
  multipart: [502],
  'multipart-unordered': [502],
  'multipart-later': LATER,
  'continue-unasked': [502],
  refused: [403, 502],
  // The mirrors may happen to take turns in such a way that one version is complete.
  'mirrors-out-of-step': ['bytes', 'reset', 502],
  // Damaged chunks are fetched again; how often depends on which answers are the damaged ones.
  'bit-flips-digest': ['bytes', 'reset', 502],
  'busy-absurd': [503],
  // Origins whose ranges break the contract: an edge takes nothing but ranges
  'earlier-range': ['reset', 502],
  'etag-per-request': ['reset', 502],
  'inverted-range': ['reset', 502],
  'longer-range': ['reset', 502],
  'missing-content-range': ['reset', 502],
  'multipart-elsewhere': ['reset', 502],
  'multipart-overlapping': ['reset', 502],
  'multipart-wrong-boundary': ['reset', 502],
  'other-unit': ['reset', 502],
  'shorter-range': ['reset', 502],
  'whole-as-range': ['reset', 502],
  'multipart-incomplete': LATER,
  'ranges-forbidden': [403],
  'ranges-fail': [502],
  'ranges-reset': [502],
  'if-range-refused': ['bytes', 'reset', 502, 403],
  // Links that work once bring an edge its first chunk.
  'works-once': ['reset', 403],
  'works-once-gone': ['reset', 410],
  'works-once-failing': ['reset', 502],
  'works-once-late': ['reset', 502],
  'works-once-reset': ['reset', 502],
  'works-once-page': ['reset', 502],
  'timeout-first': ['bytes', 502],
  // An edge asks for no range of an encoded file, and gets it as it is.
  'gzip-ranges': ['bytes'],
  // Answers that break the rules of HTTP
  'bad-header-line': [502],
  'nul-in-header': [502],
  'very-long-header': [502],
  'bare-line-feeds': ['bytes', 502],
  'folded-header': ['bytes', 502],
  'control-in-name': [502],
  'content-range-colon': [502],
  'content-range-equals': [502],
  'content-range-spaces': [502],
  'content-range-unitless': [502],
  'same-length-listed': [502],
  'same-length-twice': [502],
  'many-fields': [502],
  'chunked-twice': [502],
  'gzip-transfer': [502],
  'gzip-transfer-whole': [502],
  // An edge sends no cookies of its own.
  'redirect-until-cookie': [502],
  // Bodies that end early on every answer, of files without versions: there is no rest.
  'short-body-unversioned': ['reset', 502],
  // An edge asks again for a stream that breaks off, while each answer gets further.
  'short-body-whole': ['bytes', 'reset', 502],
  'unsatisfiable-at-first': [502],
  'unsatisfiable-sometimes': ['bytes', ...LATER],
  'overwritten-in-place': ['bytes', ...LATER],
  'login-page-range': ['reset', 502],
  // Links that work twice bring an edge two requests.
  'works-twice': ['reset', 403],
  'works-twice-reset': ['reset', 502],
};

/** Faults whose chunks never come whole, or never right: the edge gives them up after 40 s. */
const SLOW: ReadonlySet<string> = new Set([
  ...['close-delimited-ranges-cut', 'content-digest-wrong', 'stall-body'],
]);
/** Byte at which the second client resumes. */
const OFFSET = 700_001;
/** Most versions in which the origin may have served a file during one fetch. */
const VERSIONS = 8;
/** Clients at a time: many of them only wait. */
const AT_A_TIME = 16;
/** Time limit of a test, in ms: the first one waits for all fetches before its own. */
const TEST_TIMEOUT_MS = 300_000;
const NAMES = FAULT_NAMES.filter(
  (name) => classOf(name) !== 'silent' && !UNSEEN_BY_EDGES.has(name),
);

function expected(fault: string): readonly Outcome[] {
  const listed = EXPECTED[fault];
  if (listed !== undefined) return listed;
  const kind = classOf(fault);
  if (kind === 'either') return ['bytes', 'reset', 502];
  // These two digests cover the whole file, which an edge never sees.
  const whole = fault === 'repr-digest-wrong' || fault === 'digest-wrong';
  return kind === 'fatal-alone' && !whole ? ['reset', 502] : ['bytes'];
}

const origin = await FaultOrigin.start();

// All origins have one address here, and so have all clients.
const OPTIONS = [
  ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB'],
  ...['--origin-connections', '256', '--client-requests', '0'],
];
const patient = await EdgeProcess.start(OPTIONS);
/** For origins that fall silent. On a busy machine, other origins would seem silent to it. */
const impatient = await EdgeProcess.start([...OPTIONS, '--origin-timeout', '3s']);

afterAll(async () => {
  await Promise.all([patient.stop(), impatient.stop()]);
  await origin.stop();
});

/** Classifies an answer. Wrong bytes are never an expected outcome. */
function outcomeOf(got: Fetched | undefined, url: string): Outcome | 'wrong bytes' {
  if (got === undefined || !got.complete) return 'reset';
  if (got.status >= 400) {
    expect(got.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(got.body.toString())).toMatchObject({ status: got.status });
    return got.status;
  }
  const coding = got.headers['content-encoding'];
  // Nothing encoded may be joined to other bytes: the body must be all of it.
  if (coding !== undefined && (coding !== 'gzip' || got.status !== 200)) return 'wrong bytes';
  const body = coding === undefined ? got.body : gunzipSync(got.body);
  return isRight(body, url, got.status === 206 ? OFFSET : 0) ? 'bytes' : 'wrong bytes';
}

/** Returns whether a body is the rest of one version of the file: any version, never a mixture. */
function isRight(body: Buffer, url: string, offset: number): boolean {
  if (offset === 0 && url.includes('/empty/')) return body.length === 0;
  for (let version = 1; version <= VERSIONS; version++) {
    if (origin.content(url, version).subarray(offset).equals(body)) return true;
  }
  return false;
}

/** A client that fetches a file with a fault. */
interface Client {
  readonly fault: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const clients = (suffix: string, headers: Client['headers']): Client[] =>
  NAMES.map((fault) => ({
    fault,
    url: origin.url(fault, { seed: `${fault}${suffix}` }),
    headers,
  }));
const whole = clients('', {});
const resuming = clients('-resume', { range: `bytes=${OFFSET}-` });
const slowFirst = [...whole, ...resuming].sort(
  (a, b) => Number(SLOW.has(b.fault)) - Number(SLOW.has(a.fault)),
);

/** Outcome of each fetch. No answer, or one that is not HTTP, counts as a reset. */
const fetched = atATime(AT_A_TIME, slowFirst, async ({ fault, url, headers }) => {
  const edge = fault.startsWith('stall-') ? impatient : patient;
  const got = await fetchAll(edge.prefixed(url), { headers }).catch(() => undefined);
  const outcome = outcomeOf(got, url);
  return { outcome, isPart: got?.status === 206 && got.complete };
});

describe('a client that fetches the whole file', () => {
  test.each(whole)(
    '$fault',
    async (client) => {
      expect(expected(client.fault)).toContain((await fetched.get(client))?.outcome);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a client that resumes at an offset', () => {
  test.each(resuming)(
    '$fault',
    async (client) => {
      const got = await fetched.get(client);
      const outcomes = expected(client.fault);
      // A fault that appears after the beginning of a whole body may appear before the beginning of
      // its rest.
      const early = [...outcomes, 416, ...(outcomes.includes('reset') ? [502] : [])];
      expect(got?.isPart ? ['bytes'] : early).toContain(got?.outcome);
    },
    TEST_TIMEOUT_MS,
  );
});
