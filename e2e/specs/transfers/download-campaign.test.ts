/**
 * Random downloads from several faulty sources, killed and started again: the right bytes or an
 * error with nothing under the final name, and always an end.
 *
 * MILLRACE_CAMPAIGN_PLANS sets their number (100; 1000 for a night), MILLRACE_TEST_SEED repeats a
 * campaign, and MILLRACE_CAMPAIGN_PLAN one plan of it.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { CERTIFICATE } from '@millrace/shared/testing/certificate';
import {
  type DownloadPlan,
  describePlan,
  mustComplete,
  planDownload,
  servedVersions,
  servesEmpty,
} from '../../fixtures/faults/download-campaign.ts';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { filesIn, runWatched, type WatchedResult } from '../../fixtures/faults/faults-run.ts';
import { EdgeProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { LONGEST_WAIT_MS } from '../../fixtures/until.ts';

/** Exit statuses of failures that a source can cause: network, refused, checksum, source. */
const FAILURES = [3, 4, 5, 7];
const AT_A_TIME = 6;
const INCOMPLETE = 'did not complete';

const seed = testSeed('download campaign');
const only = process.env.MILLRACE_CAMPAIGN_PLAN;
const count = Number(process.env.MILLRACE_CAMPAIGN_PLANS ?? 100);

const startOrigins = (tls: boolean) =>
  Promise.all(Array.from({ length: 4 }, () => FaultOrigin.start({ tls })));
const plainOrigins = await startOrigins(false);
const tlsOrigins = await startOrigins(true);
const originsOf = ({ tls }: DownloadPlan) => (tls ? tlsOrigins : plainOrigins);
const folder = await temporaryFolder();
const certificate = join(folder.path, 'certificate.pem');
await writeFile(certificate, CERTIFICATE);
const env = { NODE_EXTRA_CA_CERTS: certificate };
const edge = await EdgeProcess.start(
  [
    ...['--allow-origin', '127.0.0.1', '--chunk-size', '256KiB', '--origin-timeout', '2s'],
    ...['--client-requests', '0', '--log-level', 'error'],
  ],
  env,
);

afterAll(async () => {
  await edge.stop();
  await Promise.all([...plainOrigins, ...tlsOrigins].map((origin) => origin.stop()));
  await folder.remove();
});

interface Outcome {
  readonly plan: DownloadPlan;
  readonly url: string;
  readonly result: WatchedResult;
  readonly files: Awaited<ReturnType<typeof filesIn>>;
}

/** Returns how an outcome is wrong, or undefined if it is right. */
function verdict({ plan, url, result, files }: Outcome): string | undefined {
  const origin = originsOf(plan)[0] as FaultOrigin;
  if (result.hung) return 'hung';
  if (result.code !== 0) {
    if (files.digests.size > 0) return `failed and left ${[...files.digests.keys()]}`;
    if (!FAILURES.includes(result.code ?? -1)) return `unexpected exit status ${result.code}`;
    return mustComplete(plan) ? INCOMPLETE : undefined;
  }
  if (files.digests.size !== 1 || !files.digests.has('file.bin')) return `left ${files.names}`;
  const right = servedVersions(plan).map((version) => origin.digest(url, version));
  if (servesEmpty(plan)) right.push(origin.digest(url.replace(/size=\d+/, 'size=0')));
  return right.includes(files.digests.get('file.bin') ?? '') ? undefined : 'wrong bytes';
}

/**
 * Carries out a plan: all runs but the last are killed, if they live long enough.
 *
 * @param patience factor on the time limits
 */
async function carryOut(plan: DownloadPlan, patience = 1): Promise<Outcome> {
  const name = `plan-${plan.number}`;
  const origins = originsOf(plan);
  const urls = plan.sources.map((faults, i) =>
    (origins[i] as FaultOrigin).url(faults, { size: plan.bytes, seed: name }),
  );
  const [url = '', ...mirrors] = urls;
  const dir = join(folder.path, name);
  await mkdir(dir);
  const options = [
    ...['-d', dir, '--timeout', `${2 * patience}s`, '--retry-for', `${6 * patience}s`],
    ...['--connections', String(plan.connections)],
    ...mirrors.flatMap((mirror) => ['--mirror', mirror]),
    ...(plan.redundancy === 'ours' ? [] : ['--redundancy', plan.redundancy]),
    ...(plan.edge ? ['--edge', edge.url] : []),
    ...(plan.checksum ? ['--checksum', `sha-256=${origins[0]?.digest(url)}`] : []),
  ];
  let result: WatchedResult | undefined;
  for (const kill of [...plan.kills, undefined]) {
    result = await runWatched(['get', url, ...options], {
      withinMs: LONGEST_WAIT_MS * patience,
      env,
      onStart: ({ child }) => {
        if (kill === undefined) return;
        const origin = origins[kill.source] as FaultOrigin;
        origin.onSent(urls[kill.source] as string, kill.afterBytes, () => child.kill('SIGKILL'));
      },
    });
    // The program ended before the kill.
    if (result.code !== null || result.hung) break;
    // The kill came after the file had its final name: there is nothing left to do.
    if ((await filesIn(dir)).digests.size > 0) {
      result = { ...result, code: 0 };
      break;
    }
  }
  const files = await filesIn(dir);
  await rm(dir, { recursive: true });
  return { plan, url, result: result as WatchedResult, files };
}

describe(`${only === undefined ? count : 1} random downloads`, () => {
  test(
    'end with the right bytes or an error, never hang, and complete if a source is good',
    async () => {
      const numbers =
        only === undefined ? Array.from({ length: count }, (_, i) => i) : [Number(only)];
      const bad: string[] = [];
      const ends: Record<string, number> = {};
      const work = async () => {
        for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
          const plan = planDownload(seed, number);
          let outcome = await carryOut(plan);
          // A good source may be slower than the limits where other programs take the processor.
          if (verdict(outcome) === INCOMPLETE) outcome = await carryOut(plan, 10);
          const { result } = outcome;
          const wrong = verdict(outcome);
          const end = result.code === 0 ? 'completed' : `status ${result.code}`;
          ends[end] = (ends[end] ?? 0) + 1;
          if (wrong === undefined) continue;
          bad.push(`${wrong}: ${describePlan(plan)}\n${result.stdout}${result.stderr}`);
          // Report it at once, for people who stop the campaign before its end.
          process.stderr.write(`download campaign: seed ${seed}, ${bad.at(-1)}\n`);
        }
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, work));
      process.stderr.write(`download campaign: seed ${seed}, ${JSON.stringify(ends)}\n`);
      expect(bad).toEqual([]);
    },
    300_000 + count * 5000,
  );
});
