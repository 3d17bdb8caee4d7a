/**
 * `npm run bench -- memory`: an edge's memory under floods of requests from strangers, in the
 * default configuration. First 20,000 HEADs of small files with 8 kB of random query each, then
 * 20,000 readers of a file each that take 2 kB every 9 s, from 256 addresses, beside an honest
 * client that fetches a file. Ends by itself in a few minutes.
 */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fetchAll } from '../fixtures/clients/http-client.ts';
import { SlowReaders } from '../fixtures/clients/slow-readers.ts';
import { sha256 } from '../fixtures/origins/content.ts';
import { WideOrigin, wideBytes } from '../fixtures/origins/wide-origin.ts';
import { EdgeProcess } from '../fixtures/programs/processes.ts';

const MiB = 1024 * 1024;
const HEADS = 20_000;
const HEADS_AT_ONCE = 32;
const QUERY_CHARS = 8000;
const READERS = 20_000;
const ADDRESSES = 256;
const READER_FILE_BYTES = 64 * MiB;
const READING_MS = 60_000;
const SAMPLE_MS = 1000;
/** Longest wait for the honest client's file. */
const PATIENCE_MS = 10_000;
const HONEST_BYTES = 3_000_000;
/** Open files of an edge besides the connections of clients. */
const OTHER_FILES = 300;
const CACHE_BYTES = 256 * MiB;
const PER_CLIENT_BYTES = 16 * MiB;
const PROGRAM_BYTES = 150_000_000;
const DEFAULT_BOUND_BYTES = 2048 * MiB;

const mib = (bytes: number) => `${Math.round(bytes / MiB)} MiB`;

function resident(e: EdgeProcess): number {
  const status = readFileSync(`/proc/${e.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

async function withEdge<T>(
  run: (e: EdgeProcess, origin: WideOrigin) => Promise<T>,
  ...settings: string[]
): Promise<T> {
  const origin = await WideOrigin.start();
  const options = ['--allow-origin', '127.0.0.1', '--log-level', 'warn', ...settings];
  // As in production: returned memory is not overwritten.
  const e = await EdgeProcess.start(options, { MILLRACE_POISON_MEMORY: '0' });
  try {
    return await run(e, origin);
  } finally {
    await e.stop('SIGKILL');
    await origin.stop();
  }
}

async function heads(e: EdgeProcess, origin: WideOrigin): Promise<boolean> {
  const before = resident(e);
  const agent = new Agent({ keepAlive: true, maxSockets: HEADS_AT_ONCE });
  const statuses: Record<string, number> = {};
  let next = 0;
  const ask = async () => {
    while (next++ < HEADS) {
      const query = randomBytes(QUERY_CHARS / 2).toString('hex');
      const url = `${e.prefixed(origin.url('small', 1000))}&q=${query}`;
      const { status } = await fetchAll(url, { agent, method: 'HEAD' });
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: HEADS_AT_ONCE }, ask));
  agent.destroy();
  const { memory, cache } = await e.status();
  const peak = await e.peakBytes();
  const bound = CACHE_BYTES + PER_CLIENT_BYTES + PROGRAM_BYTES;
  print([
    ['answers', JSON.stringify(statuses)],
    ['resident before', mib(before)],
    ['resident at its peak', mib(peak)],
    ['charged, by /-/status', mib(memory.chargedBytes)],
    ['cache, of 256 MiB', `${mib(cache.memory.bytes)} in ${cache.memory.chunks} chunks`],
    ['cache + 16 MiB + 150 MB', mib(bound)],
  ]);
  return peak <= DEFAULT_BOUND_BYTES;
}

async function readers(e: EdgeProcess, origin: WideOrigin): Promise<boolean> {
  const most = Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }));
  const count = Number.isNaN(most) ? READERS : Math.min(READERS, most - OTHER_FILES);
  const before = resident(e);
  const url = `${e.prefixed(origin.url('endless', READER_FILE_BYTES))}&reader={n}`;
  const slow = new SlowReaders({
    url,
    readers: count,
    addresses: ADDRESSES,
    bytesAtATime: 2048,
    everyMs: 9000,
  });
  const endAt = performance.now() + READING_MS;
  const honest = { files: 0, refused: 0, wrong: 0, failed: 0 };
  let mostActive = 0;
  let mostCharged = 0;
  let mostOpen = 0;
  const want = sha256(wideBytes(0, HONEST_BYTES));
  try {
    while (performance.now() < endAt) {
      await pause(SAMPLE_MS);
      const status = await e.status();
      mostActive = Math.max(mostActive, status.transfers.active);
      mostCharged = Math.max(mostCharged, status.memory.chargedBytes);
      mostOpen = Math.max(mostOpen, slow.counts.open);
      try {
        const got = await Promise.race([
          fetchAll(e.prefixed(origin.url('honest', HONEST_BYTES))),
          pause(PATIENCE_MS).then(() => Promise.reject(new Error('no answer'))),
        ]);
        if (got.status === 503) honest.refused++;
        else if (got.status === 200 && got.digest === want) honest.files++;
        else honest.wrong++;
      } catch {
        honest.failed++;
      }
    }
    const { memory, admission, clients } = await e.status();
    const { refused, cutOff } = slow.counts;
    const peak = await e.peakBytes();
    print([
      ['readers', `${count} from ${ADDRESSES} addresses, ${mostOpen} connected at most`],
      ['transfers under way, at most', String(mostActive)],
      ['resident before', mib(before)],
      ['resident at its peak', mib(peak)],
      ['charged at most', mib(mostCharged)],
      ['stop and limit', `${mib(memory.stopBytes)} and ${mib(memory.limitBytes)}`],
      ['refused and reset by memory', `${admission.memory?.refused} and ${clients.slowReset}`],
      ['seen by the readers', `${JSON.stringify(refused)}, ${cutOff} cut off`],
      ['the honest client', JSON.stringify(honest)],
    ]);
    await slow.stop();
    await pause(5000);
    const after = await e.status();
    print([
      ['5 s after they left: transfers', String(after.transfers.active)],
      ['chunk memory in flight', mib(after.memory.shares.chunksInFlight as number)],
      ['resident', mib(resident(e))],
    ]);
    return peak <= DEFAULT_BOUND_BYTES && honest.wrong === 0;
  } finally {
    await slow.stop();
  }
}

function print(rows: readonly (readonly [string, string])[]): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) process.stdout.write(`  ${name.padEnd(width)}  ${value}\n`);
}

/** Runs both floods. @returns exit code: 1 if the edge took over 2 GiB or sent a wrong byte */
export async function memory(): Promise<number> {
  process.stdout.write(`${HEADS} HEADs of small files with ${QUERY_CHARS} characters of query\n`);
  const headsHeld = await withEdge(heads, '--client-requests', '0');
  process.stdout.write('Slow readers of 2 kB every 9 s, each of a file of its own\n');
  const readersHeld = await withEdge(readers);
  return headsHeld && readersHeld ? 0 : 1;
}
