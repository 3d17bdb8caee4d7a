/** Accuracy of the laboratory: rates, round trips and losses, as configured and as measured. */

import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { contentOf } from '../../fixtures/origins/content.ts';
import type { Experiment } from '../experiment.ts';
import type { Host } from '../host.ts';
import { Lab } from '../lab.ts';
import { startNginx } from '../programs.ts';
import { mean, median, percentile } from '../report.ts';
import { pair } from '../topologies.ts';

const FILE_MB = 200;
const LINKS = [
  { mbit: 10, rttMs: 20 },
  { mbit: 100, rttMs: 20 },
  { mbit: 100, rttMs: 100 },
  { mbit: undefined, rttMs: 10 },
];
/** Longest measurement of each link. */
const SECONDS = 5;

interface Measured {
  readonly mbit: number;
  /** Round trips. */
  readonly rttMs: readonly number[];
  readonly lateMs: number;
  readonly worstLateMs: number;
}

export const check: Experiment = {
  name: 'check',
  title: 'Accuracy of the laboratory itself',
  runs: 3,
  needsLab: true,
  async run({ seed, runs, say }) {
    const rows: (string | number | undefined)[][] = [];
    const raw: unknown[] = [];
    let delayedBy = '';
    for (const { mbit, rttMs } of LINKS) {
      const measured: Measured[] = [];
      for (let run = 0; run < runs; run++) {
        await using lab = await Lab.open({ seed: seed + run });
        delayedBy = lab.delayedBy;
        measured.push(await measure(lab, mbit, rttMs));
        say(`check: ${mbit ?? 'unlimited'} Mbit/s, ${rttMs} ms, run ${run + 1} of ${runs}`);
      }
      raw.push({ mbit, rttMs, measured });
      const trips = measured.flatMap((one) => one.rttMs);
      rows.push([
        mbit ?? 'none',
        rttMs,
        median(measured.map((one) => one.mbit)),
        median(trips),
        percentile(trips, 0.95),
        mean(measured.map((one) => one.lateMs)),
        Math.max(...measured.map((one) => one.worstLateMs)),
      ]);
    }
    return {
      conditions: { 'delay by': delayedBy, processors: cpus().length, host: 'nginx to curl' },
      tables: [
        {
          title: 'One connection',
          columns: [
            'Mbit/s set',
            'ms set',
            'Mbit/s of payload',
            'ms, median',
            'ms, 95%',
            'late ms, mean',
            'late ms, most',
          ],
          rows,
        },
      ],
      plots: [],
      notes: ['A TCP connection carries 1448 of every 1514 bytes as payload: 95.6% of the rate.'],
      raw,
    };
  },
};

async function measure(lab: Lab, mbit: number | undefined, rttMs: number): Promise<Measured> {
  const link = mbit === undefined ? {} : { downMbit: mbit, upMbit: mbit };
  const { client, server } = pair(lab, {
    client: { ...link, rttMs: rttMs / 2 },
    server: { ...link, rttMs: rttMs / 2 },
  });
  await writeFile(join(lab.folder, 'file'), contentOf('check', FILE_MB * 1e6));
  await writeFile(join(lab.folder, 'small'), '1');
  const nginx = await startNginx(server, { dir: join(lab.folder, 'nginx'), root: lab.folder });
  const trips = await roundTrips(client, `${nginx.url}/small`);
  const bulk = ['-s', '-o', '/dev/null', '--max-time', String(SECONDS), '-w', FORMAT];
  const { stdout } = await client.run('curl', [...bulk, `${nginx.url}/file`]);
  const [seconds = 0, first = 0, bytes = 0] = stdout.split(' ').map(Number);
  const stats = await lab.delayStats();
  return {
    mbit: (bytes * 8) / 1e6 / (seconds - first),
    rttMs: trips,
    lateMs: stats?.meanLateMs ?? Number.NaN,
    worstLateMs: stats?.maxLateMs ?? Number.NaN,
  };
}

const FORMAT = '%{time_total} %{time_starttransfer} %{size_download}';
const TRIPS = 20;

/** Measures the time of connecting: one round trip. */
async function roundTrips(client: Host, url: string): Promise<number[]> {
  const args = ['-s', '-H', 'Connection: close', '-w', '%{time_connect}\\n'];
  const urls = Array.from({ length: TRIPS }, () => ['-o', '/dev/null', url]);
  const { stdout } = await client.run('curl', [...args, ...urls.flat()]);
  return stdout
    .trim()
    .split('\n')
    .map((text) => Number(text) * 1000)
    .filter((ms) => ms > 0);
}
