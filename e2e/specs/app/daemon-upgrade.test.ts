/** An upgrade of the daemon: what the first version kept is there, and goes on. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { digestOf } from '../../fixtures/stages/daemon-stage.ts';
import { layFirstState } from '../../fixtures/stages/first-state.ts';

const origin = await FaultOrigin.start();
afterAll(() => origin.stop());

test('queue, history, settings and partial data of the first version are kept', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await temporaryFolder();
  stack.defer(async () => void (await folder.remove()));
  const half = await layFirstState(folder.path, origin);
  const daemon = await DaemonProcess.start(folder.path);
  stack.defer(async () => void (await daemon.stop()));

  const { downloads } = await daemon.call('millrace.list', {});
  const gidOf = (name: string) => downloads.find((one) => one.name === name)?.gid as string;
  const statuses = downloads.map(({ name, status }) => [name, status]);
  expect(statuses).toContainEqual(['done.bin', 'complete']);
  expect(statuses).toContainEqual(['missing.bin', 'error']);
  expect(statuses).toContainEqual(['later.bin', 'paused']);
  expect(await daemon.call('millrace.getLimits')).toMatchObject({ concurrent: 3, limit: 409_600 });
  expect(await daemon.call('millrace.getCategories')).toMatchObject({
    categories: [{ name: 'films', folder: 'films', extensions: ['mkv'] }],
  });
  await daemon.call('millrace.setLimits', { limit: null });
  const found = await daemon.call('millrace.search', { text: 'later' });
  expect(found.downloads.map(({ name }) => name)).toEqual(['later.bin']);

  const kept = await daemon.reaches(gidOf('kept.bin'), 'complete');
  expect(kept.path).toBe(join(folder.path, 'downloads', 'kept.bin'));
  expect(await digestOf(kept.path)).toBe(origin.digest(half));
  const asked = origin.requests.filter(({ path }) => path.includes('half.bin'));
  // The first request finds out what the file is. The journal names 2 MB; the others ask for none of them.
  expect(asked.length).toBeGreaterThan(1);
  for (const { headers } of asked.slice(1)) {
    expect(Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1])).toBeGreaterThanOrEqual(
      1_572_864,
    );
  }

  const gid = gidOf('later.bin');
  expect((await daemon.status(gid)).limit).toBe(51_200);
  await daemon.call('millrace.change', { gid, limit: null });
  await daemon.call('millrace.resume', { gids: [gid] });
  const later = await daemon.reaches(gid, 'complete');
  expect(await readFile(later.path)).toHaveLength(200_000);
  const request = origin.requests.find(({ path }) => path.includes('later.bin'));
  expect(request?.headers['x-mine']).toBe('1');
});
