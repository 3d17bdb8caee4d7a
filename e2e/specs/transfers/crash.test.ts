/** Downloads that are killed at any instant: the next run completes them at little cost. */

import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { PacedOrigin } from '../../fixtures/origins/paced-origin.ts';
import { CliProcess, type CliResult } from '../../fixtures/programs/processes.ts';

const MiB = 1024 * 1024;
/**
 * Most bytes that may be fetched again, whatever the length of the file. A killed process loses the
 * bytes that it has in memory: twice (before and after the write) 256 KiB or the bytes that arrive in
 * 8 ms, and 4 MiB on their way to the disk if the disk or the processor is busy.
 */
const REFETCHED_BYTES = 10 * MiB;
const CONNECTIONS = 2;
const FILE_BYTES = 256 * MiB;
const KILLS = Number(process.env.MILLRACE_CRASH_KILLS ?? 6);
/** Kills of which one comes late: when all bytes are there, while the file gets its name. */
const LATE_EVERY = 3;
const LATE_TICKS = 400;
/** Exit status of the command line when a file of that name exists. */
const FILE_EXISTS = 6;
const DEADLINE_MS = 120_000 + KILLS * 60_000;

const seed = testSeed('crash test');
const random = seededRandom(seed);
const content = contentOf('crash', FILE_BYTES);
const digest = sha256(content);
const origin = await PacedOrigin.start(content);
// The folder is in memory if possible, because the test writes the same bytes again and again.
const folder = await mkdtemp(
  join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'millrace-crash-'),
);

afterAll(async () => {
  await origin.stop();
  await rm(folder, { recursive: true, force: true });
});

const get = (dir: string) =>
  new CliProcess(['get', origin.url, '-d', dir, '--connections', `${CONNECTIONS}`, '--json']);

/** Returns the body bytes that a download reports to have received in its last run. */
function receivedBytes({ stdout }: CliResult): number {
  const line = stdout.split('\n').find((text) => text.includes('"event":"done"'));
  if (line === undefined) throw new Error(`it does not say that it is done: ${stdout}`);
  return JSON.parse(line).receivedBytes;
}

/**
 * Kills the process some turns of the event loop after the origin has sent a number of bytes.
 *
 * @returns the end of the process, and how many bytes it has received
 */
async function killAt(run: CliProcess, bytes: number, ticks: number) {
  let readBytes: number | undefined;
  origin.when(bytes, () => {
    let left = ticks;
    const next = () => {
      if (left-- > 0) return void setImmediate(next);
      // The process never receives bytes that are on their way to it, or sent after its end.
      readBytes = origin.sentBytes - origin.unreadBytes;
      run.child.kill('SIGKILL');
    };
    next();
  });
  return { killed: await run.result, readBytes: readBytes ?? origin.sentBytes };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}

/** Runs a download that is killed once. @returns the bytes that came again */
async function trial(number: number): Promise<number> {
  const dir = join(folder, String(number));
  await mkdir(dir);
  origin.reset();
  const late = number % LATE_EVERY === 0;
  const bytes = late ? FILE_BYTES : Math.floor(random() * FILE_BYTES);
  const { killed, readBytes } = await killAt(
    get(dir),
    bytes,
    late ? Math.floor(random() * LATE_TICKS) : 0,
  );
  const what = `kill ${number} of seed ${seed}, at byte ${bytes}`;
  // If the download was complete, only the file is left, even if the kill came later.
  const names = await readdir(dir);
  const left = names.filter((name) => name !== 'file.bin');
  let again = 0;
  if (left.length === 0) {
    expect({ what, code: killed.code ?? 0 }).toEqual({ what, code: 0 });
  } else {
    const result = await get(dir).result;
    const { code, stderr } = result;
    // If only a lock is left beside a complete file, the next run says that the file exists.
    const complete = names.includes('file.bin') && left.join() === 'file.bin.millrace-lock';
    expect({ what, code, stderr }).toEqual({ what, code: complete ? FILE_EXISTS : 0, stderr: '' });
    if (!complete) again = receivedBytes(result);
  }
  expect({ what, names: await readdir(dir) }).toEqual({ what, names: ['file.bin'] });
  expect({ what, digest: await digestOf(join(dir, 'file.bin')) }).toEqual({ what, digest });
  await rm(dir, { recursive: true });
  const refetched = readBytes + again - FILE_BYTES;
  expect({ what, refetched: refetched <= REFETCHED_BYTES ? 'little' : refetched }).toEqual({
    what,
    refetched: 'little',
  });
  return refetched;
}

describe('kill -9', () => {
  test(
    `at ${KILLS} random instants: the next run completes the file and fetches little again`,
    async () => {
      const refetched: number[] = [];
      for (let number = 1; number <= KILLS; number++) refetched.push(await trial(number));
      const mean = refetched.reduce((sum, bytes) => sum + bytes, 0) / refetched.length;
      const inMiB = (bytes: number) => `${(bytes / MiB).toFixed(2)} MiB`;
      process.stderr.write(
        `crash test: fetched again ${inMiB(mean)} on average, ${inMiB(Math.max(...refetched))} at most\n`,
      );
    },
    DEADLINE_MS,
  );
});
