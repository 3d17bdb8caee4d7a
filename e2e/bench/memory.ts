/**
 * `npm run bench -- memory [heads] [readers] [streams]`: an edge's memory under floods of requests
 * from strangers, in the default configuration. First 20,000 HEADs of small files with 8 kB of random
 * query each, then 20,000 readers of a file each that take 2 kB every 9 s, from 256 addresses, beside
 * an honest client that fetches a file, then 4,000 streams of HTTP/2 that take nothing, with small and
 * with large header fields. Ends by itself in a few minutes.
 */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { fetchAll } from '../fixtures/clients/http-client.ts';
import { SlowReaders } from '../fixtures/clients/slow-readers.ts';
import { makeCertificate } from '../fixtures/origins/certificate.ts';
import { sha256 } from '../fixtures/origins/content.ts';
import { WideOrigin, wideBytes } from '../fixtures/origins/wide-origin.ts';
import { EdgeProcess, temporaryFolder } from '../fixtures/programs/processes.ts';

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
const SESSIONS = 40;
const STREAMS_EACH = 100;
const SMALL_FIELD_CHARS = 10;
const LARGE_FIELD_CHARS = 8000;
/** Least part of the growth of resident memory that the account must have noticed. */
const CHARGED_SHARE = 0.8;
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

/** @param fieldChars length of a header field of each stream */
async function streams(e: EdgeProcess, origin: WideOrigin, fieldChars: number): Promise<boolean> {
  const path = new URL(e.prefixed(origin.url('small', 1000)));
  const target = path.pathname + path.search;
  // The first request has its own costs: the edge loads code for it, and fetches the file.
  await fetchAll(e.prefixed(origin.url('small', 1000)));
  const sessions: ClientHttp2Session[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const settings = { initialWindowSize: 0 };
    const options = { rejectUnauthorized: false, localAddress: `127.0.7.${1 + i}`, settings };
    sessions.push(connect(e.secureUrl, options).on('error', () => {}));
  }
  await pause(3 * SAMPLE_MS);
  const before = { resident: resident(e), ...(await e.status()).memory };
  for (const [nth, session] of sessions.entries()) {
    for (let i = 0; i < STREAMS_EACH; i++) {
      const fill = `${nth}-${i}`.padEnd(fieldChars, 'x');
      session.request({ ':path': target, 'x-fill': fill }).on('error', () => {});
    }
  }
  let status = await e.status();
  for (let i = 0; i < 30 && status.transfers.active < SESSIONS * STREAMS_EACH; i++) {
    await pause(SAMPLE_MS);
    status = await e.status();
  }
  await pause(3 * SAMPLE_MS);
  const after = { resident: resident(e), ...(await e.status()).memory };
  const { active } = status.transfers;
  const grown = after.resident - before.resident;
  const charged = after.chargedBytes - before.chargedBytes;
  const each = (bytes: number) => `${mib(bytes)}, ${Math.round(bytes / active)} bytes each`;
  print([
    ['streams', `${active} of ${SESSIONS} connections, with ${fieldChars} bytes of field each`],
    ['growth of resident memory', each(grown)],
    ['growth of what is charged', each(charged)],
  ]);
  for (const session of sessions) session.destroy();
  return charged >= CHARGED_SHARE * grown;
}

function print(rows: readonly (readonly [string, string])[]): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) process.stdout.write(`  ${name.padEnd(width)}  ${value}\n`);
}

/** Streams with small fields, then with large ones, at an edge each. */
async function bothStreams(): Promise<boolean> {
  const folder = await temporaryFolder();
  const { cert, key } = makeCertificate(folder.path, 'edge');
  let held = true;
  for (const chars of [SMALL_FIELD_CHARS, LARGE_FIELD_CHARS]) {
    const run = (e: EdgeProcess, origin: WideOrigin) => streams(e, origin, chars);
    held = (await withEdge(run, '--tls-cert', cert, '--tls-key', key, '--http-port', '0')) && held;
  }
  await folder.remove();
  return held;
}

const FLOODS: Readonly<Record<string, { what: string; run: () => Promise<boolean> }>> = {
  heads: {
    what: `${HEADS} HEADs of small files with ${QUERY_CHARS} characters of query`,
    run: () => withEdge(heads, '--client-requests', '0'),
  },
  readers: {
    what: 'Slow readers of 2 kB every 9 s, each of a file of its own',
    run: () => withEdge(readers),
  },
  streams: { what: 'Streams of HTTP/2 that take nothing', run: bothStreams },
};

/**
 * Runs the floods.
 *
 * @param wanted names of floods; none: all of them
 * @returns exit code: 1 if the edge took over 2 GiB, sent a wrong byte, or charged too little
 */
export async function memory(wanted: readonly string[]): Promise<number> {
  let held = true;
  for (const [name, { what, run }] of Object.entries(FLOODS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stdout.write(`${what}\n`);
    held = (await run()) && held;
  }
  return held ? 0 : 1;
}
