/** The command line against every fault: the right file or a clean error, never a hang. */

import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { sha256 } from '../fixtures/content.ts';
import { FaultOrigin } from '../fixtures/fault-origin.ts';
import { FAULT_NAMES } from '../fixtures/faults.ts';
import { EdgeProcess, runCli, temporaryFolder } from '../fixtures/processes.ts';

/** Exit statuses, as documented. */
const [OK, NETWORK, REFUSED, SOURCE] = [0, 3, 4, 7];

/** Faults not in this list must not keep the user from the file. */
const DIRECT: Readonly<Record<string, readonly number[]>> = {
  'wrong-start': [SOURCE],
  'wrong-end': [SOURCE],
  'wrong-start-later': [SOURCE],
  'wrong-total': [SOURCE],
  'unknown-length': [SOURCE],
  'two-content-ranges': [SOURCE],
  'malformed-content-range': [SOURCE],
  'multipart-for-one-range': [SOURCE],
  'unsatisfiable-always': [SOURCE],
  'ranges-ignored-later': [SOURCE],
  'short-length': [SOURCE],
  'long-body': [SOURCE],
  'reset-at-once': [NETWORK],
  'close-before-header': [NETWORK],
  'stall-header': [NETWORK],
  gzip: [SOURCE],
  'gzip-whole': [SOURCE],
  'chunked-broken': [NETWORK],
  'changes-always': [SOURCE],
  'etag-missing-later': [SOURCE],
  'not-found': [REFUSED],
  gone: [REFUSED],
  forbidden: [REFUSED],
  'server-error': [REFUSED],
  'busy-for-ever': [REFUSED],
  'strange-status': [SOURCE],
  'redirect-loop': [REFUSED],
  'redirect-to-file': [REFUSED],
  'redirect-nowhere': [REFUSED],
  'redirect-expiring': [OK, REFUSED],
  garbage: [SOURCE],
  'two-lengths': [SOURCE],
  'length-and-chunked': [SOURCE],
  'endless-header': [SOURCE, NETWORK],
};

/** The edge hands on whole chunks: the client may lose patience before it has one. */
const SLOW_THROUGH_AN_EDGE: ReadonlySet<string> = new Set(['stall-body']);

const origin = await FaultOrigin.start();
const folder = await temporaryFolder();

const edge = await EdgeProcess.start([
  '--allow-origin',
  '127.0.0.1',
  '--chunk-size',
  '256KiB',
  '--origin-timeout',
  '1500ms',
]);

afterAll(async () => {
  await edge.stop();
  await origin.stop();
  await folder.remove();
});

async function download(fault: string, kind: string, options: readonly string[]) {
  const url = origin.url(fault, { seed: `${fault}-${kind}`, size: 2_500_000 });
  const dir = join(folder.path, `${fault}-${kind}`);
  await mkdir(dir);
  const patience = ['--timeout', '1s', '--retry-for', '3s'];
  const result = await runCli(['get', url, '-d', dir, ...patience, ...options]);
  const names = await readdir(dir);
  const digests = Array.from({ length: 8 }, (_, i) => origin.digest(url, i + 1));
  digests.push(origin.digest(url.replace(/size=\d+/, 'size=0')));
  if (result.code === OK) {
    // Nothing but the file is left, and it is one whole version of it.
    expect(names).toEqual(['file.bin']);
    expect(digests).toContain(sha256(await readFile(join(dir, 'file.bin'))));
  } else {
    // Nothing under the final name, and a reason that somebody can act on.
    expect(names.filter((name) => !/\.millrace-(part|journal)$/.test(name))).toEqual([]);
    expect(result.stderr).toMatch(/\w{3,}.*\.\n\w{3,}/);
    expect(result.stderr).not.toMatch(/inside Millrace/);
  }
  return result;
}

describe('directly', () => {
  test.concurrent.each(FAULT_NAMES)('%s', async (fault) => {
    const { code, stderr } = await download(fault, 'direct', []);
    expect({ stderr, allowed: DIRECT[fault] ?? [OK] }).toMatchObject({
      allowed: expect.arrayContaining([code]),
    });
  });
});

describe('through an edge only', () => {
  test.concurrent.each(FAULT_NAMES)('%s', async (fault) => {
    const { code, stderr } = await download(fault, 'edge', ['--edge', edge.url, '--edges-only']);
    // What the edge mends or hides may turn out better than directly, or be refused by the edge.
    const mendable = fault in DIRECT || SLOW_THROUGH_AN_EDGE.has(fault);
    const allowed = mendable ? [OK, NETWORK, REFUSED, SOURCE] : [OK];
    expect({ stderr, allowed }).toMatchObject({ allowed: expect.arrayContaining([code]) });
  });
});
