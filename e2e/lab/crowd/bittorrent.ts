/** BitTorrent: aria2c at the origin and at all clients, which keep sharing when complete. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../fixtures/until.ts';
import { listens } from '../programs.ts';
import { torrentOf } from '../torrent.ts';
import type { CrowdStage, Outcome, System } from './stage.ts';

const TRACKER = fileURLToPath(new URL('../tracker.ts', import.meta.url));
const TRACKER_PORT = 6969;
const PEER_PORT = 6881;
const PIECE_BYTES = 256 * 1024;
const DEADLINE_MS = 300_000;

export function hasAria2(): boolean {
  return spawnSync('aria2c', ['--version']).status === 0;
}

/** Options of all peers: found by the tracker only, as fast as possible, without upload limits. */
const OPTIONS = [
  '--no-conf',
  '-q',
  '--file-allocation=none',
  '--enable-dht=false',
  '--enable-dht6=false',
  '--bt-enable-lpd=false',
  '--enable-peer-exchange=true',
  '--bt-max-peers=60',
  '--bt-request-peer-speed-limit=100M',
  '--seed-ratio=0.0',
  `--listen-port=${PEER_PORT}`,
];

export async function bittorrent(stage: CrowdStage): Promise<System> {
  const { origin } = stage.crowd;
  const tracker = origin.spawn(process.execPath, [TRACKER, String(TRACKER_PORT)], {
    stdio: 'inherit',
  });
  if (!(await listens(tracker, TRACKER_PORT))) throw new Error('the tracker did not start');
  const torrent = join(stage.lab.folder, 'file.torrent');
  const announce = `http://${origin.address}:${TRACKER_PORT}/announce`;
  const content = await readFile(stage.filePath);
  await writeFile(torrent, torrentOf(stage.fileName, content, PIECE_BYTES, announce));
  const seeding = ['--check-integrity=true', '-d', stage.root, torrent];
  const seed = origin.spawn('aria2c', [...OPTIONS, ...seeding], { stdio: 'ignore' });
  if (!(await listens(seed, PEER_PORT))) throw new Error('aria2c did not start');
  const tick = await hook(stage);
  return {
    fetch: async (client, _, output, gate): Promise<Outcome> => {
      const dir = `${output}.torrent`;
      await mkdir(dir, { recursive: true });
      const args = [...OPTIONS, `--on-bt-download-complete=${tick}`, '-d', dir, torrent];
      const waiting = ['-c', 'read -r line && exec aria2c "$@"', 'aria2c', ...args];
      const child = client.spawn('sh', waiting, {
        stdio: ['pipe', 'ignore', 'ignore', 'ignore', 'ignore'],
      });
      const since = performance.timeOrigin + (await gate.passed(child, false));
      const done = join(dir, `${stage.fileName}.done`);
      const ended = () => child.exitCode !== null || child.signalCode !== null;
      await until(() => existsSync(done) || ended(), DEADLINE_MS).catch(() => {});
      if (!existsSync(done)) return { seconds: Number.NaN, failure: 'aria2c did not finish' };
      await writeFile(output, await readFile(join(dir, stage.fileName)));
      return { seconds: ((await stat(done)).mtimeMs - since) / 1000, failure: undefined };
    },
    originBytes: async () => undefined,
  };
}

/**
 * Writes the script that aria2c runs when a download is complete. The script creates a file, whose
 * date is the time of completion.
 */
async function hook(stage: CrowdStage): Promise<string> {
  const path = join(stage.lab.folder, 'done.sh');
  await writeFile(path, '#!/bin/sh\n: > "$3.done"\n', { mode: 0o700 });
  return path;
}
