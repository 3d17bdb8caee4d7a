/**
 * The account of memory: an edge bounds the memory that floods of requests and slow readers may
 * take.
 */

import { randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { SlowReaders } from '../../fixtures/clients/slow-readers.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { WideOrigin, wideBytes } from '../../fixtures/origins/wide-origin.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { until } from '../../fixtures/until.ts';

const MiB = 1024 * 1024;
const LIMIT = 320 * MiB;
const CACHE = 16 * MiB;
const HEADS = 3500;
const QUERY_CHARS = 8000;
/** Bytes that V8 may keep besides live objects, for the young generation and garbage. */
const RESERVE = 200 * MiB;
const FILE_BYTES = 3_000_000;
const ADDRESSES = 16;
/** Limit of a test and of its waits, ms: each needs a minute of a processor for itself. */
const LIMIT_MS = 600_000;
/** Bound on an edge's resident memory in bytes: its cache, its active clients, and a fixed part. */
const RESIDENT_BOUND = CACHE + 16 * MiB * ADDRESSES + 150_000_000;
const origin = await WideOrigin.start();
let edge: EdgeProcess | undefined;
let readers: SlowReaders | undefined;

afterEach(async () => {
  await readers?.stop();
  await edge?.stop('SIGKILL');
});
afterAll(() => origin.stop());

async function start(...options: string[]): Promise<EdgeProcess> {
  edge = await EdgeProcess.start([
    ...['--allow-origin', '127.0.0.1', '--log-level', 'warn', '--cache-memory', '16MiB'],
    ...['--client-requests', '0', '--own-requests', '0', '--max-amplification', '0', ...options],
  ]);
  return edge;
}

/**
 * Fetches a file as a well-behaved client, which asks again when refused. @returns how often the
 * edge refused it
 */
async function isServed(e: EdgeProcess, name: string): Promise<number> {
  let refused = 0;
  await until(async () => {
    const got = await fetchAll(e.prefixed(origin.url(name, FILE_BYTES)));
    if (got.status === 503) {
      expect(got.headers['retry-after']).toBe('1');
      expect(JSON.parse(got.body.toString())).toMatchObject({ code: 'out-of-memory' });
      refused++;
      return false;
    }
    expect([got.status, got.complete, got.digest]).toEqual([
      200,
      true,
      sha256(wideBytes(0, FILE_BYTES)),
    ]);
    return true;
  }, LIMIT_MS);
  return refused;
}

test(
  'the slowest readers are reset at the stop, and others get their files',
  async () => {
    const e = await start('--max-memory', '320MiB');
    // A file for each reader: at least half a megabyte that no other shares, 300 MiB in all.
    readers = new SlowReaders({
      url: `${e.prefixed(origin.url('endless', 64 * MiB))}&reader={n}`,
      readers: 600,
      addresses: ADDRESSES,
      bytesAtATime: 2048,
      everyMs: 1000,
    });
    await until(async () => (await e.status()).clients.slowReset > 0, LIMIT_MS);
    await until(async () => ((await e.status()).admission.memory?.refused ?? 0) > 0, LIMIT_MS);
    for (let i = 0; i < 5; i++) await isServed(e, `beside-${i}`);
    const { memory, admission } = await e.status();
    expect(memory.limitBytes).toBe(LIMIT);
    expect(admission.memory).toMatchObject({ limit: LIMIT });
    expect(admission.memory?.evicted).toBeGreaterThan(0);
    expect(memory.chargedBytes).toBeLessThanOrEqual(LIMIT);
    expect(await e.peakBytes()).toBeLessThanOrEqual(RESIDENT_BOUND);
    await e.logged(/memory is short/);

    await readers.stop();
    await until(async () => {
      const { transfers, memory: left } = await e.status();
      return transfers.active === 0 && left.shares.chunksInFlight === 0 && left.above === 0;
    }, LIMIT_MS);
    expect(await isServed(e, 'afterwards')).toBe(0);
  },
  LIMIT_MS,
);

test(
  'HEADs of small files with long random queries take no more than the cache’s share, and the status shows it',
  async () => {
    const e = await start();
    const before = await e.peakBytes();
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    let left = HEADS;
    const ask = async () => {
      while (left-- > 0) {
        const url = e.prefixed(origin.url('small', 1000));
        const query = randomBytes(QUERY_CHARS / 2).toString('hex');
        const { status } = await fetchAll(`${url}&q=${query}`, { agent, method: 'HEAD' });
        expect(status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 16 }, ask));
    agent.destroy();
    const { cache, memory } = await e.status();
    expect(cache.memory.bytes).toBeLessThanOrEqual(CACHE);
    expect(memory.shares.pointers).toBeLessThanOrEqual(4 * MiB);
    expect(memory.shares.origins).toBeLessThanOrEqual(4 * MiB);
    // Each kept entry has at least the query in its key.
    expect(cache.memory.chunks * QUERY_CHARS).toBeLessThan(CACHE);
    expect((await e.peakBytes()) - before).toBeLessThan(CACHE + RESERVE);
    expect(memory.residentBytes).toBeLessThan(memory.chargedBytes + RESERVE);
  },
  LIMIT_MS,
);
