/** `millrace get` against every fault: what its class says, no wrong byte, never a hang. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { classOf, FAULT_NAMES, versionsOf } from '../fixtures/faults.ts';
import { filesIn, runWatched, type WatchedResult } from '../fixtures/faults-run.ts';
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
  'range-unasked': [REFUSED, SOURCE],
  'ranges-ignored-later': [SOURCE],
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
  'etag-missing-later': [SOURCE],
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
  'close-delimited-ranges-cut',
  'refused-at-first',
  // The edge takes no parts from origins.
  'multipart-later',
  // Nor an interim answer that is none of the usual ones.
  'continue-unasked',
]);

/** Long enough for a machine with much else to do; short where there is nothing to wait for. */
function patience(fault: string): string[] {
  const timeout = fault.startsWith('stall-') ? '1s' : '8s';
  return ['--timeout', timeout, '--retry-for', classOf(fault) === 'fatal-alone' ? '2s' : '30s'];
}

const WATCHDOG_MS = 50_000;
const BYTES = 2_500_000;

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

/** Downloads, and demands what is demanded of every outcome. */
async function download(
  fault: string,
  kind: string,
  options: readonly string[] = [],
): Promise<WatchedResult> {
  const url = origin.url(fault, { seed: `${fault}-${kind}`, size: BYTES });
  const dir = join(folder.path, `${fault}-${kind}`);
  await mkdir(dir);
  // Without a digest nobody could tell, and wrong bytes would be no fault of ours.
  const digest = classOf(fault) === 'silent' ? ['--checksum', `sha-256=${origin.digest(url)}`] : [];
  const result = await runWatched(
    ['get', url, '-d', dir, ...patience(fault), ...digest, ...options],
    {
      withinMs: WATCHDOG_MS,
    },
  );
  if (result.hung) throw new Error(`${fault}, ${kind}: hung\n${result.stdout}${result.stderr}`);
  const { names, digests } = await filesIn(dir);
  if (result.code === OK) {
    // Nothing but the file is left, and it is one whole version of it.
    expect(names).toEqual(['file.bin']);
    const right = versionsOf(fault).map((version) => origin.digest(url, version));
    if (fault === 'empty') right.push(origin.digest(url.replace(/size=\d+/, 'size=0')));
    expect(right).toContain(digests.get('file.bin'));
  } else {
    // Nothing under the final name, and a reason that somebody can act on.
    expect([...digests.keys()]).toEqual([]);
    expect(result.stderr).toMatch(/\w{3,}.*\.\n\w{3,}/);
    expect(result.stderr).not.toMatch(/inside Millrace/);
  }
  return result;
}

function allowed(fault: string): readonly number[] {
  const kind = classOf(fault);
  if (kind === 'fatal-alone') return ENDS[fault] ?? [];
  if (kind === 'silent' || kind === 'either') return [OK, ...FAILURES];
  return [OK];
}

describe('directly', () => {
  test.concurrent.each(FAULT_NAMES)('%s', async (fault) => {
    const { code, stderr } = await download(fault, 'direct');
    expect({ stderr, allowed: allowed(fault) }).toMatchObject({
      allowed: expect.arrayContaining([code]),
    });
  });
});

describe('through an edge only', () => {
  test.concurrent.each(FAULT_NAMES)('%s', async (fault) => {
    const { code, stderr } = await download(fault, 'edge', ['--edge', edge.url, '--edges-only']);
    // What the edge mends or hides may turn out better than directly, or be refused by the edge.
    const kind = classOf(fault);
    const sure = kind === 'harmless' || kind === 'recoverable';
    const ends = sure && !HARDER_THROUGH_AN_EDGE.has(fault) ? [OK] : [OK, ...FAILURES];
    expect({ stderr, ends }).toMatchObject({ ends: expect.arrayContaining([code]) });
  });
});
