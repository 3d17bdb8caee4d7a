/**
 * `npm run bench -- clients [NAME]...`: clients of public services, unmodified, through an edge with the
 * preset of each, before stand-ins of the services under their real names: cold, warm, and with the
 * services down, while what the edge keeps is current, and once it is no longer. Clients that PyPI has are
 * installed first, in an environment of their own.
 */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../fixtures/programs/processes.ts';
import { RATTLER } from '../fixtures/services/conda.ts';
import * as downloads from '../fixtures/services/downloads.ts';
import { HF_DOWNLOAD, HUGGING_FACE } from '../fixtures/services/hugging-face.ts';
import { CONTAINERD, DOCKER, PODMAN, SKOPEO } from '../fixtures/services/images.ts';
import { GRADLE, MAVEN } from '../fixtures/services/maven.ts';
import * as npmClients from '../fixtures/services/npm-clients.ts';
import * as managers from '../fixtures/services/package-managers.ts';
import { installPythonClients } from '../fixtures/services/python-clients.ts';
import { isInstalled, type ServiceClient } from '../fixtures/services/service-client.ts';
import { ServiceStage } from '../fixtures/services/service-stage.ts';

const CLIENTS: readonly ServiceClient[] = [
  ...Object.values(managers),
  ...Object.values(npmClients),
  ...Object.values(downloads),
  ...[GRADLE, HF_DOWNLOAD, HUGGING_FACE, MAVEN, RATTLER, SKOPEO, PODMAN, CONTAINERD, DOCKER],
].toSorted((a, b) => a.preset.localeCompare(b.preset) || a.name.localeCompare(b.name));

const PASSES = ['cold', 'warm', 'down', 'down, stale'] as const;
type Pass = (typeof PASSES)[number];

/** Runs the clients. @returns the exit status: 0 if each got the right bytes in each pass */
export async function clients(wanted: readonly string[]): Promise<number> {
  if (!installPythonClients()) {
    process.stderr.write(
      'The clients that PyPI has cannot be installed (it takes python3 with venv).\n',
    );
  }
  const chosen = CLIENTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  const rows: string[][] = [];
  let failed = 0;
  for (const client of chosen) {
    const cells = new Map<Pass, string>();
    if (isInstalled(client)) {
      for (const stale of [false, true]) failed += await tryOne(client, stale, cells);
    }
    const row = PASSES.map((pass) => cells.get(pass) ?? 'not installed');
    rows.push([client.name, client.preset, ...row]);
    process.stderr.write(`${[client.name, ...row].join(' | ')}\n`);
  }
  const head = ['client', 'preset', ...PASSES];
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  process.stdout.write(`${lines.join('\n')}\n`);
  return failed === 0 ? 0 : 1;
}

/** @returns passes that failed */
async function tryOne(
  client: ServiceClient,
  stale: boolean,
  cells: Map<Pass, string>,
): Promise<number> {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'stage');
  await mkdir(path);
  const stage = await ServiceStage.start(path, [client.preset], stale);
  let failed = 0;
  const pass = async (name: Pass, wanted: string) => {
    const before = stage.services.sentBytes;
    let cell: string;
    try {
      const got = await stage.fetch(client);
      const bytes = stage.services.sentBytes - before;
      cell = got === wanted ? `right, ${(bytes / 1e6).toFixed(1)} MB` : 'WRONG BYTES';
      if (got !== wanted) failed++;
    } catch (error) {
      process.stderr.write(`${client.name}, ${name}: ${String(error)}\n`);
      cell = 'FAILED';
      failed++;
    }
    cells.set(name, cell);
  };
  try {
    const wanted = await client.publish(stage.services, path);
    // If this fails, the pass below does, and says why.
    if (stale) await stage.fetch(client).catch(() => {});
    else {
      await pass('cold', wanted);
      await pass('warm', wanted);
    }
    await stage.services.stop();
    await pass(stale ? 'down, stale' : 'down', wanted);
    return failed;
  } finally {
    await stage.stop();
    await folder.remove();
  }
}
