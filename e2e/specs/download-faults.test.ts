/** `millrace get` against every fault: what its class says, no wrong byte, never a hang. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { classOf, FAULT_NAMES, versionsOf } from '../fixtures/faults.ts';
import { filesIn, runWatched } from '../fixtures/faults-run.ts';
import { EdgeProcess, temporaryFolder } from '../fixtures/processes.ts';

/** Exit statuses, as documented. */
const [OK, NETWORK, REFUSED, CHECKSUM, SOURCE] = [0, 3, 4, 5, 7];

/** How a download from a source that is fatal alone ends. */
const ENDS: Readonly<Record<string, readonly number[]>> = {
  'wrong-start': [SOURCE],
  'wrong-end': [SOURCE],
  'wrong-start-later': [SOURCE],
  'wrong-total': [SOURCE],
  'unknown-length': [SOURCE],
  'missing-content-range': [SOURCE],
  'other-unit': [SOURCE],
  'inverted-range': [SOURCE],
  'longer-range': [SOURCE],
  'shorter-range': [SOURCE],
  'earlier-range': [SOURCE],
  'two-content-ranges': [SOURCE],
  'malformed-content-range': [SOURCE],
  'multipart-for-one-range': [SOURCE],
  'multipart-wrong-boundary': [SOURCE],
  'multipart-overlapping': [SOURCE],
  'multipart-incomplete': [SOURCE],
  'multipart-elsewhere': [SOURCE],
  'unsatisfiable-always': [SOURCE],
  'login-page-later': [REFUSED],
  'short-length': [SOURCE],
  'long-body': [SOURCE],
  'reset-at-once': [NETWORK],
  'close-before-header': [NETWORK],
  'stall-header': [NETWORK],
  refused: [NETWORK],
  gzip: [SOURCE],
  'gzip-whole': [SOURCE],
  'chunked-broken': [NETWORK],
  'content-digest-wrong': [SOURCE],
  'repr-digest-wrong': [CHECKSUM, SOURCE],
  'digest-wrong': [CHECKSUM, SOURCE],
  'changes-always': [SOURCE],
  'etag-per-request': [SOURCE],
  'mirrors-out-of-step': [SOURCE],
  'not-found': [REFUSED],
  'not-found-later': [REFUSED],
  gone: [REFUSED],
  forbidden: [REFUSED],
  'expired-link': [REFUSED],
  'server-error': [REFUSED],
  'busy-for-ever': [REFUSED],
  'busy-absurd': [REFUSED],
  'strange-status': [SOURCE],
  'no-content': [SOURCE],
  'reset-content': [SOURCE],
  'not-modified': [REFUSED, SOURCE],
  'login-page-range': [SOURCE],
  'redirect-loop': [REFUSED],
  'redirect-to-file': [REFUSED],
  'redirect-nowhere': [REFUSED],
  'switching-protocols': [NETWORK, SOURCE],
  garbage: [SOURCE],
  'two-lengths': [SOURCE],
  'negative-length': [SOURCE],
  'length-and-chunked': [SOURCE],
  'bad-chunk-size': [SOURCE, NETWORK],
  'bad-header-line': [SOURCE],
  'nul-in-header': [SOURCE],
  'endless-header': [SOURCE, NETWORK],
};
const FAILURES = [NETWORK, REFUSED, CHECKSUM, SOURCE];

/** What a download gets over directly, but not through an edge, and why that may be. */
const HARDER_THROUGH_AN_EDGE: ReadonlySet<string> = new Set([
  // The edge hands on whole chunks: the client may lose patience before it has one.
  'stall-body',
  'chunked-ranges-broken',
  'refused-at-first',
  // The edge takes no parts from origins.
  'multipart-later',
  // Nor ranges of a file that has lost what told its versions apart.
  'etag-missing-later',
  // Nor an interim answer that is none of the usual ones.
  'continue-unasked',
]);

/** The edge tries again for 40 seconds before it gives up. */
const SLOW_THROUGH_AN_EDGE: ReadonlySet<string> = new Set(['close-delimited-ranges-cut']);

/** Long enough for a machine with much else to do; short where there is nothing to wait for. */
function patience(fault: string): string[] {
  const timeout = fault.startsWith('stall-') ? '1s' : '8s';
  return ['--timeout', timeout, '--retry-for', classOf(fault) === 'fatal-alone' ? '2s' : '30s'];
}

const WATCHDOG_MS = 50_000;
const BYTES = 2_500_000;
/** Programs for each kind of patience, each with its share of the faults. */
const GROUPS = 6;
const GROUP_TIMEOUT_MS = 300_000;

const origin = await FaultOrigin.start();
const folder = await temporaryFolder();

const edge = await EdgeProcess.start([
  ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB', '--origin-timeout', '1500ms'],
]);

afterAll(async () => {
  await edge.stop();
  await origin.stop();
  await folder.remove();
});

const isSilent = (fault: string) => classOf(fault) === 'silent';

interface Download {
  readonly fault: string;
  readonly url: string;
}

function fileOf(fault: string, kind: string): Download {
  const name = `${fault}.bin`;
  return { fault, url: origin.url(fault, { seed: `${fault}-${kind}`, size: BYTES, name }) };
}

/** Downloads files one after the other. @returns the end of the program */
async function run(
  files: readonly Download[],
  dir: string,
  needsDigest: (fault: string) => boolean,
  options: readonly string[],
) {
  await mkdir(dir);
  const [first] = files as [Download];
  // Without a digest nobody could tell, and wrong bytes would be no fault of ours.
  const digest = needsDigest(first.fault)
    ? ['--checksum', `sha-256=${origin.digest(first.url)}`]
    : [];
  const urls = files.map(({ url }) => url);
  const result = await runWatched(
    ['get', ...urls, '-d', dir, ...patience(first.fault), ...digest, ...options],
    { withinMs: WATCHDOG_MS * files.length },
  );
  const { stdout, stderr } = result;
  if (result.hung) throw new Error(`${urls.join(' ')} hung\n${stdout}${stderr}`);
  return { ...result, ...(await filesIn(dir)) };
}

/** Demands that a file is one whole version, or that there is none under the final name. */
function expectWholeOrNothing(
  { fault, url }: Download,
  digests: ReadonlyMap<string, string>,
  completed: boolean,
): void {
  const digest = digests.get(`${fault}.bin`);
  if (!completed) return expect(digest).toBeUndefined();
  const right = versionsOf(fault).map((version) => origin.digest(url, version));
  if (fault === 'empty') right.push(origin.digest(url.replace(/size=\d+/, 'size=0')));
  expect(right).toContain(digest);
}

function allowed(fault: string): readonly number[] {
  const kind = classOf(fault);
  if (kind === 'fatal-alone') return ENDS[fault] ?? [];
  if (kind === 'silent' || kind === 'either') return [OK, ...FAILURES];
  return [OK];
}

describe('directly', () => {
  test.concurrent.each(FAULT_NAMES)('%s', async (fault) => {
    const file = fileOf(fault, 'direct');
    const { code, stderr, names, digests } = await run(
      [file],
      join(folder.path, fault),
      isSilent,
      [],
    );
    expectWholeOrNothing(file, digests, code === OK);
    if (code === OK) {
      // Nothing but the file is left.
      expect(names).toEqual([`${fault}.bin`]);
    } else {
      // Nothing under any final name, and a reason that somebody can act on.
      expect([...digests.keys()]).toEqual([]);
      expect(stderr).toMatch(/\w{3,}.*\.\n\w{3,}/);
      expect(stderr).not.toMatch(/inside Millrace/);
    }
    expect({ stderr, allowed: allowed(fault) }).toMatchObject({
      allowed: expect.arrayContaining([code]),
    });
  });
});

/** Edges hand on no digests of parts, and check none. */
const needsDigest = (fault: string) => isSilent(fault) || fault === 'bit-flips-digest';

/** Those that one program can download one after the other; silent ones have each a digest. */
function inGroups(faults: readonly string[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const [i, fault] of faults.entries()) {
    const key = needsDigest(fault) ? fault : `${patience(fault).join(' ')} ${i % GROUPS}`;
    groups.set(key, [...(groups.get(key) ?? []), fault]);
  }
  return [...groups.values()];
}

describe('through an edge only', () => {
  interface Grouped {
    readonly file: Download;
    readonly digests: ReadonlyMap<string, string>;
    /** What the program said of it, if it failed. */
    readonly error: { readonly exit: number; readonly advice: string } | undefined;
  }

  async function downloadGroup(faults: readonly string[]): Promise<Map<string, Grouped>> {
    const files = faults.map((fault) => fileOf(fault, 'edge'));
    const dir = join(folder.path, `edge-${faults[0]}`);
    const via = ['--edge', edge.url, '--edges-only', '--json'];
    const { stdout, digests } = await run(files, dir, needsDigest, via);
    const lines = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    return new Map(
      files.map((file) => {
        const error = lines.find(({ event, url }) => event === 'error' && url === file.url);
        return [file.fault, { file, digests, error }];
      }),
    );
  }

  const running = new Map<string, Promise<Map<string, Grouped>>>();
  const groups = inGroups(FAULT_NAMES.filter((name) => !SLOW_THROUGH_AN_EDGE.has(name)));
  test.concurrent.each(groups.flat())(
    '%s',
    async (fault) => {
      const group = groups.find((names) => names.includes(fault)) as string[];
      const key = group.join();
      if (!running.has(key)) running.set(key, downloadGroup(group));
      const done = (await running.get(key)) as Map<string, Grouped>;
      const { file, digests, error } = done.get(fault) as Grouped;
      expectWholeOrNothing(file, digests, error === undefined);
      // What the edge mends or hides may turn out better than directly, or be refused by the edge.
      const kind = classOf(fault);
      const sure = kind === 'harmless' || kind === 'recoverable';
      if (sure && !HARDER_THROUGH_AN_EDGE.has(fault)) expect(error).toBeUndefined();
      else expect([OK, ...FAILURES]).toContain(error?.exit ?? OK);
      if (error !== undefined) expect(error.advice).toMatch(/\w{3,}.*\.$/);
    },
    GROUP_TIMEOUT_MS,
  );
});
