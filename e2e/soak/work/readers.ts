/** Clients of edges: fetch whole files and parts of files, and compare every byte. */

import type { IncomingMessage } from 'node:http';
import type { Random } from '@millrace/shared/base/clock';
import { openResponse } from '../../fixtures/clients/http-client.ts';
import { sha256 } from '../../fixtures/origins/content.ts';
import { judgeFile, type Strike } from '../account/causes.ts';
import { now } from '../account/ledger.ts';
import { Progress } from './progress.ts';
import { below, edgeStrikes, pause, type World } from './world.ts';

/** Pause after each operation, ms: the machine does other work as well. */
const REST_MS = 150;
/** Slowest reading, bytes per second: such a response outlives a fault. */
const SLOW_RATE = 1_000_000;
/** Share of the responses that are read slowly. */
const SLOW_SHARE = 0.3;

interface Asked {
  readonly edge: number;
  readonly file: number;
  /** Part of the file, or all of it. */
  readonly range: readonly [start: number, end: number] | undefined;
  readonly rate: number;
}

/** Reads until the soak ends. */
export async function readOn(world: World, random: Random): Promise<void> {
  while (!world.ended.aborted) {
    const file = below(random, world.files.count);
    const bytes = world.files.bytesOf(file);
    const start = below(random, bytes);
    await readOnce(world, {
      file,
      edge: below(random, world.edges.count),
      range: random() < 0.5 ? undefined : [start, start + 1 + below(random, bytes - start)],
      rate: random() < SLOW_SHARE ? SLOW_RATE : Number.POSITIVE_INFINITY,
    });
    await pause(world, REST_MS * (1 + random()));
  }
}

async function readOnce(world: World, { edge, file, range, rate }: Asked): Promise<void> {
  const { ledger, files, edges } = world;
  const from = now();
  const url = `${edges.url(edge)}/${files.url(file)}`;
  const strikes: Strike[] = [...edgeStrikes(edge), { kind: 'change-file', target: file }];
  const what = `file ${file}${range ? `, bytes ${range[0]} to ${range[1]},` : ''} at edge ${edge}`;
  const controller = new AbortController();
  const progress = new Progress(world.hangMs, () => {
    ledger.hang(`read: ${what}`);
    controller.abort();
  });
  try {
    const response = await openResponse(url, {
      headers: range === undefined ? {} : { range: `bytes=${range[0]}-${range[1] - 1}` },
      signal: controller.signal,
    });
    const body = await bodyOf(response, rate, progress);
    const status = response.statusCode ?? 0;
    if (status !== (range === undefined ? 200 : 206)) {
      return ledger.fail(
        'read',
        `status-${status}`,
        from,
        strikes,
        `${what}: ${body.toString('latin1', 0, 300)}`,
      );
    }
    if (!response.complete) return ledger.fail('read', 'broken-off', from, strikes, what);
    judge(world, { edge, file, range, rate }, response, body, from, strikes, what);
  } catch (error) {
    if (progress.hung) return;
    const { code, message } = error as NodeJS.ErrnoException;
    const seen = code === 'ECONNREFUSED' ? 'refused' : 'broken-off';
    ledger.fail('read', seen, from, strikes, `${what}: ${message}`);
  } finally {
    progress.end();
  }
}

/** Reads a body, at most at a rate. @throws Error if it breaks off */
async function bodyOf(
  response: IncomingMessage,
  rate: number,
  progress: Progress,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const begunAt = now();
  for await (const piece of response) {
    pieces.push(piece as Buffer);
    bytes += (piece as Buffer).length;
    progress.tell(bytes);
    const aheadMs = (bytes / rate) * 1000 - (now() - begunAt);
    if (aheadMs > 1) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
  return Buffer.concat(pieces);
}

/** Compares a complete answer with the version that its entity tag names. */
function judge(
  { files, ledger }: World,
  { file, range }: Asked,
  response: IncomingMessage,
  body: Buffer,
  from: number,
  strikes: readonly Strike[],
  what: string,
): void {
  const version = files.tagged(file, String(response.headers.etag));
  if (version === undefined)
    return ledger.wrongBytes(`read: ${what}: ETag ${response.headers.etag}`);
  const [start, end] = range ?? [0, files.bytesOf(file)];
  const got = sha256(body);
  // Of versions of long ago only whole files can be compared, by their digests.
  const wanted =
    version.body === undefined && range === undefined
      ? version.digest
      : version.body && sha256(version.body.subarray(start, end));
  if (wanted !== undefined && wanted !== got) return ledger.wrongBytes(`read: ${what}: ${got}`);
  if (judgeFile(version.digest, [version], from) === 'stale')
    return ledger.fail('read', 'stale', from, strikes, what);
  ledger.complete('read', body.length);
}
