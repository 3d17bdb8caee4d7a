/** Uploads to depots that are killed and repeated; every stored file is fetched again. */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@millrace/shared/base/clock';
import { openResponse, readAll } from '../../fixtures/clients/http-client.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import type { Strike } from '../account/causes.ts';
import { now } from '../account/ledger.ts';
import { lastWords } from './gets.ts';
import { Progress } from './progress.ts';
import { below, edgeStrikes, pause, type World } from './world.ts';

const MiB = 1024 * 1024;
const REST_MS = 500;
const MOST_RUNS = 15;
const READ_PAUSE_MS = 1000;

/** Stored copy of a file. */
interface Stored {
  readonly link: string;
  readonly manage: string;
}

/**
 * Uploads until the soak ends.
 *
 * @param seat number of the command
 * @param disks number of the small disk of each depot, by the number of its edge
 */
export async function uploadOn(
  world: World,
  random: Random,
  seat: number,
  disks: ReadonlyMap<number, number>,
): Promise<void> {
  const folder = join(world.folder, `upload-${seat}`);
  for (let number = 0; !world.ended.aborted; number++) {
    await mkdir(folder, { recursive: true });
    const content = contentOf(`upload ${seat} ${number}`, MiB / 2 + below(random, 6 * MiB));
    const path = join(folder, 'sent.bin');
    await writeFile(path, content);
    const depots = world.edges.depots;
    const depot = depots[below(random, depots.length)] as number;
    const disk = disks.get(depot);
    const strikes: Strike[] = [
      ...edgeStrikes(depot),
      ...(disk === undefined ? [] : [{ kind: 'fill-disk' as const, target: disk }]),
    ];
    const stored = await upload(world, seat, depot, path, folder, strikes);
    if (stored !== undefined) {
      await fetchBack(world, stored, content, depot, strikes);
      // A depot that is away keeps the file until its time is over.
      await world.edges.forget(stored.manage).catch(() => {});
    }
    await rm(folder, { recursive: true, force: true });
    await pause(world, REST_MS);
  }
}

async function upload(
  world: World,
  seat: number,
  depot: number,
  path: string,
  folder: string,
  strikes: readonly Strike[],
): Promise<Stored | undefined> {
  const { ledger, edges, commands } = world;
  const from = now();
  const args = [
    ...['upload', path, '--edge', edges.url(depot), '--token-file', edges.tokenFile],
    ...['--for', '5m', '--retry-for', '30s'],
  ];
  const env = { MILLRACE_STATE: join(folder, 'state') };
  const what = `seat ${seat}, to edge ${depot}`;
  for (let runs = 1; !world.ended.aborted; runs++) {
    const end = await commands.run(seat, args, env, { hangMs: world.hangMs, signal: world.ended });
    if (end.ended === 'hung') {
      ledger.hang(`upload: ${what}: ${lastWords(end)}`);
      return undefined;
    }
    if (end.result.code === 0) {
      const done = end.events.find(({ event }) => event === 'done');
      return done as unknown as Stored | undefined;
    }
    if (end.ended === 'killed') continue;
    const failed = end.events.find(({ event }) => event === 'error');
    const code = failed?.code ?? `exit-${end.result.code}`;
    ledger.fail('upload', code, from, strikes, `${what}: ${lastWords(end)}`);
    if (runs >= MOST_RUNS) return undefined;
    await pause(world, REST_MS);
  }
  return undefined;
}

/** Fetches a stored file; what a depot has acknowledged it has for good. */
async function fetchBack(
  world: World,
  { link }: Stored,
  content: Buffer,
  depot: number,
  strikes: readonly Strike[],
): Promise<void> {
  const { ledger } = world;
  const begunAt = now();
  const what = `stored file at edge ${depot}`;
  while (!world.ended.aborted) {
    const from = now();
    const controller = new AbortController();
    const progress = new Progress(world.hangMs, () => {
      ledger.hang(`upload: ${what}, fetched back`);
      controller.abort();
    });
    try {
      const { status, digest, complete, body } = await readAll(
        await openResponse(link, { signal: controller.signal }),
      );
      if (status === 200 && complete) {
        if (digest !== sha256(content)) return ledger.wrongBytes(`upload: ${what}: ${digest}`);
        return ledger.complete('upload', body.length);
      }
      if (status === 404 || status === 410) return ledger.lose(`upload: ${what}: ${digest}`);
      ledger.fail(
        'upload',
        complete ? `status-${status}` : 'broken-off',
        from,
        strikes,
        `${what}: ${digest}`,
      );
    } catch (error) {
      if (progress.hung) return;
      const { code, message } = error as NodeJS.ErrnoException;
      const seen = code === 'ECONNREFUSED' ? 'refused' : 'broken-off';
      ledger.fail('upload', seen, from, strikes, `${what}: ${message}`);
    } finally {
      progress.end();
    }
    if (now() - begunAt > world.hangMs) return ledger.hang(`upload: ${what} is not given`);
    await pause(world, READ_PAUSE_MS);
  }
}
