/**
 * `npm run bench`: a Millrace edge against nginx with its slice module, before the same origin, for
 * the same clients, on the same machine, in the same run. Absolute figures say little on a machine
 * that does other things as well: what counts are the ratios.
 */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf } from '../fixtures/content.ts';
import { Nginx, nginxOrComplain } from '../fixtures/nginx.ts';
import { EdgeProcess } from '../fixtures/processes.ts';
import { median, type Row, type Sample, sample, table } from './measure.ts';

const MiB = 1024 * 1024;
const FILE_BYTES = 512 * MiB;
/** Room for the file and some more: after the first run both caches are in their steady state. */
const CACHE_BYTES = 640 * MiB;
const RUNS = 5;

const SLICE = (origin: Nginx, dir: string) => ({
  http: `
    proxy_cache_path ${dir} keys_zone=z:10m max_size=${CACHE_BYTES} use_temp_path=off;
    upstream origin { server 127.0.0.1:${origin.port}; keepalive 32; }`,
  server: `
    location / {
      slice 1m;
      proxy_cache z;
      proxy_cache_key $uri$is_args$args$slice_range;
      proxy_set_header Range $slice_range;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_cache_valid 200 206 1h;
      proxy_pass http://origin;
    }`,
});

interface Contender {
  readonly pid: number;
  url(query: string): string;
}

/** Both in turn, run after run, so that what disturbs one disturbs the other. */
async function compare(
  name: string,
  ours: Contender,
  theirs: Contender,
  measure: (c: Contender, run: number) => Promise<Sample>,
): Promise<Row> {
  const samples: { ours: Sample[]; theirs: Sample[] } = { ours: [], theirs: [] };
  for (let run = 0; run < RUNS; run++) {
    samples.ours.push(await measure(ours, run));
    samples.theirs.push(await measure(theirs, run));
    process.stderr.write(`${name}: run ${run + 1} of ${RUNS}\n`);
  }
  return { name, ours: median(samples.ours), theirs: median(samples.theirs) };
}

async function main(): Promise<number> {
  if (!nginxOrComplain('nothing to compare with')) return 1;
  const dir = await mkdtemp(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'millrace-bench-'),
  );
  const www = join(dir, 'www');
  await mkdir(www);
  await writeFile(join(www, 'file.bin'), contentOf('bench', FILE_BYTES));
  const origin = await Nginx.start({ dir: join(dir, 'origin'), root: www });
  const slice = await Nginx.start({
    dir: join(dir, 'slice'),
    root: www,
    ...SLICE(origin, join(dir, 'cache')),
  });
  const edge = await EdgeProcess.start(
    ['--allow-origin', '127.0.0.1', '--cache-memory', String(CACHE_BYTES), '--log-level', 'warn'],
    { MILLRACE_POISON_MEMORY: '0' },
  );
  try {
    const ours: Contender = {
      pid: edge.child.pid as number,
      url: (query) => edge.prefixed(`${origin.url}/file.bin${query}`),
    };
    const theirs: Contender = { pid: slice.pid, url: (query) => `${slice.url}/file.bin${query}` };
    const rows: Row[] = [];
    for (const c of [ours, theirs]) await sample(c.pid, 1, [c.url('')]);
    rows.push(
      await compare('hit, 1 client', ours, theirs, (c) =>
        sample(c.pid, 1, [c.url(''), c.url(''), c.url(''), c.url('')]),
      ),
      await compare('hit, 8 clients', ours, theirs, (c) => sample(c.pid, 8, [c.url('')])),
      await compare('cold, 1 client', ours, theirs, (c, run) =>
        sample(c.pid, 1, [c.url(`?cold=${run}`)]),
      ),
      await compare('cold, 8 clients', ours, theirs, (c, run) =>
        sample(c.pid, 8, [c.url(`?crowd=${run}`)]),
      ),
    );
    process.stdout.write(`\n${table(rows, 'nginx slice')}\n`);
    return 0;
  } finally {
    await edge.stop();
    await slice.stop();
    await origin.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

process.exitCode = await main();
