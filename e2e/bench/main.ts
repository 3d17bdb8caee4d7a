/**
 * `npm run bench -- all`: everything that fits into an hour, and a page with tables and pictures.
 *
 * `npm run bench [-- single|fill|varnish|network|download|ui|shell|extension|popup|tls|decision|depot]`:
 * Millrace against nginx with its slice module, before the same origin, for the same clients, and
 * against aria2c, on the same machine, in the same run. The ratios count: absolute figures say
 * little on a machine that does other work as well. `--out FOLDER` writes the tables as Markdown,
 * and the figures as JSON, into a folder.
 *
 * `npm run bench -- fuzz [--cases N] [--seed S] [--target NAME]`: readers of strangers' data, with
 * millions of random inputs.
 *
 * `npm run bench -- hostile [--minutes N]`: hostile clients beside honest ones.
 *
 * `npm run bench -- cache-tests FOLDER`: the public suite of tests for HTTP caches.
 *
 * `npm run bench -- push [--hosts N] [--files N]`: a folder pushed to hosts over real sshd.
 *
 * `npm run bench -- clients [NAME]...`: package managers and other clients of public services through
 * the presets of an edge.
 *
 * `npm run bench -- stripes [--downloads N] [--seed S] [--slow N]`: downloads in coded shards whose
 * depots die, or one of which is N times slower than the others.
 *
 * `npm run bench -- coded-memory [--mib N]`: memory of a download in coded shards.
 * `npm run bench -- deltas --older FILE --wanted FILE`: what is fetched of a file that an older version is
 * there for, beside zsync and rsync.
 *
 * `npm run bench -- soak [--minutes N] [--seed S] [--without PART]... [--without-fault KIND]...`: everything at once, for hours, while
 * processes are killed, disks get full and files change.
 *
 * `npm run bench -- memory`: an edge's memory under floods of requests from strangers.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nginxOrComplain } from '../fixtures/origins/nginx.ts';
import { all } from './all/all.ts';
import { cacheTests } from './cache-tests.ts';
import { fill } from './caches/fill.ts';
import { network } from './caches/network.ts';
import { single } from './caches/single.ts';
import { varnish } from './caches/varnish.ts';
import { clients } from './clients.ts';
import { decision } from './decision.ts';
import { deltas } from './deltas/deltas.ts';
import { codedMemory } from './depots/coded-memory.ts';
import { coding } from './depots/coding.ts';
import { depot } from './depots/depot.ts';
import { stripes } from './depots/stripes.ts';
import { download } from './download.ts';
import { extension } from './extension.ts';
import { fuzz } from './fuzz.ts';
import { hostile } from './hostile.ts';
import { Stage } from './measuring/stage.ts';
import type { Result } from './measuring/table.ts';
import { memory } from './memory.ts';
import { popup } from './popup.ts';
import { push } from './push.ts';
import { shell } from './shell.ts';
import { soak } from './soak.ts';
import { tls } from './tls.ts';
import { ui } from './ui.ts';

interface Benchmark {
  readonly title: string;
  /** Measures. @returns the table in Markdown, with figures for pictures where there are some */
  readonly measure: (stage: Stage) => Promise<string | Result>;
}

const BENCHMARKS: ReadonlyMap<string, Benchmark> = new Map<string, Benchmark>([
  ['single', { title: '1 edge against 1 nginx slice cache', measure: single }],
  ['fill', { title: 'The first fill of a cache after a start, 1 edge and 1 nginx', measure: fill }],
  ['varnish', { title: '1 edge against 1 Varnish', measure: varnish }],
  [
    'network',
    {
      title: '4 edges against 4 nginx slice caches behind a consistent-hash nginx',
      measure: network,
    },
  ],
  ['download', { title: '1 GiB with millrace get and with aria2c', measure: download }],
  ['ui', { title: 'The interface with long lists and 20 running downloads', measure: ui }],
  ['shell', { title: "The app's window with 10,000 entries of history", measure: shell }],
  [
    'extension',
    { title: 'The engine in the extension and the browser itself', measure: extension },
  ],
  ['popup', { title: 'The popup of the browser extension', measure: popup }],
  ['tls', { title: 'One edge without TLS, with TLS, and with HTTP/2', measure: tls }],
  ['depot', { title: 'Uploads to a depot, to nginx and to a tus server', measure: depot }],
  ['decision', { title: 'Whether the extension takes a download', measure: decision }],
]);

/** Programs without a comparison, with options of their own. */
const PROGRAMS = new Map<string, (args: readonly string[]) => Promise<number>>([
  ['all', all],
  ['fuzz', fuzz],
  ['hostile', hostile],
  ['memory', memory],
  ['soak', soak],
  ['push', push],
  ['cache-tests', cacheTests],
  ['clients', clients],
  ['stripes', stripes],
  ['coded-memory', codedMemory],
  ['coding', coding],
  ['deltas', deltas],
]);

const WITHOUT = `Without a name: ${[...BENCHMARKS.keys()].join(', ')}. The others have options of their own.`;
/** Signals that end a run, after its folder is removed, which has half a gigabyte in memory. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Exit status of programs that a signal ended. */
const STOPPED = 130;

async function main(args: readonly string[]): Promise<number> {
  const known = [...BENCHMARKS.keys(), ...PROGRAMS.keys()].join(', ');
  if (args[0] === '--help' || args[0] === '-h') {
    process.stdout.write(
      `npm run bench -- [NAME]... [--out FOLDER]\n\nBenchmarks: ${known}\n${WITHOUT}\n`,
    );
    return 0;
  }
  const program = PROGRAMS.get(args[0] ?? '');
  if (program !== undefined) return program(args.slice(1));
  const { wanted, out } = wantedOf(args);
  const unknown = wanted.find((name) => !BENCHMARKS.has(name));
  if (unknown !== undefined) {
    process.stderr.write(`Unknown benchmark "${unknown}". Known: ${known}\n`);
    return 2;
  }
  if (!nginxOrComplain('nothing to compare with')) return 1;
  const stage = await Stage.set();
  let isStopped = false;
  const end = () => {
    isStopped = true;
    void stage.clear().finally(() => process.exit(STOPPED));
  };
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    for (const [name, { title, measure }] of BENCHMARKS) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      process.stderr.write(`${title}\n`);
      const result = await measure(stage);
      const { text, ...figures } = typeof result === 'string' ? { text: result } : result;
      process.stdout.write(`\n${title}:\n\n${text}\n\n`);
      if (out !== undefined)
        await write(out, name, `${title}:\n\n${text}\n`, { title, ...figures });
    }
    return 0;
  } catch (error) {
    // The signal reaches the measured programs as well, and measurements fail without them.
    if (!isStopped) throw error;
    return STOPPED;
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
    await stage.clear();
  }
}

/** Splits words into the names of benchmarks and the folder of `--out`. */
function wantedOf(args: readonly string[]): { wanted: string[]; out: string | undefined } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { out: { type: 'string' } },
  });
  const out = values.out;
  const from = process.env.INIT_CWD ?? process.cwd();
  return { wanted: positionals, out: out === undefined ? undefined : resolve(from, out) };
}

async function write(folder: string, name: string, text: string, figures: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.md`), text);
  const json = JSON.stringify({ benchmark: name, ...figures }, null, 1);
  await writeFile(join(folder, `${name}.json`), `${json}\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')) throw error;
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
