/** Files that programs send through the daemon: a real depot, and no page. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { contentOf } from '../../fixtures/origins/content.ts';
import { shareReaches } from '../../fixtures/programs/sent-files.ts';
import { DaemonStage } from '../../fixtures/stages/daemon-stage.ts';
import { DepotStage, OWNER_TOKEN } from '../../fixtures/stages/depot-stage.ts';

const MIB = 1024 * 1024;

const depots = await DepotStage.set();
const depot = await depots.start();
const stage = await DaemonStage.forEachTest();

beforeEach(async () => {
  await stage.daemon.call('millrace.setDepot', { url: depot.url, token: OWNER_TOKEN });
});

test('a folder can be sent by the holder of the token, but none with the daemon’s secrets', async () => {
  const folder = join(stage.folder, 'photos');
  await mkdir(folder);
  await writeFile(join(folder, 'one.txt'), 'one');
  await stage.daemon.call('millrace.share', { path: folder, seconds: 3600 });
  const { link = '' } = await shareReaches(stage.daemon, 'photos.tar', 'shared');
  expect(link).toMatch(/\/photos\.tar$/);
  const tar = Buffer.from(await (await fetch(link)).arrayBuffer());
  expect(tar.includes('photos/one.txt')).toBe(true);
  // The folder above has the daemon's token.
  const above = stage.daemon.call('millrace.share', { path: stage.folder, seconds: 3600 });
  const failure = await above.then(() => 'sent', JSON.stringify);
  expect(failure).toContain('keys and tokens');
});

test('a file that has changed since it was offered is refused, and nothing of it is stored', async () => {
  const path = join(stage.folder, 'report.txt');
  await writeFile(path, 'as it was');
  // The first two wait for the depot, so that this one waits for its turn.
  process.kill(depot.pid, 'SIGSTOP');
  const large = join(stage.folder, 'large.bin');
  await writeFile(large, contentOf('large', 30 * MIB));
  const others = await Promise.all(
    ['a', 'b'].map((named) =>
      stage.daemon.call('millrace.share', { path: large, name: named, seconds: 3600 }),
    ),
  );
  const { id, state } = await stage.daemon.call('millrace.share', { path, seconds: 3600 });
  expect(state).toBe('waiting');
  await stage.daemon.call('millrace.pauseShare', { id });
  await writeFile(path, 'as it is!');
  await stage.daemon.call('millrace.resumeShare', { id });
  process.kill(depot.pid, 'SIGCONT');
  for (const { id: other } of others)
    await stage.daemon.call('millrace.revokeShare', { id: other });
  const { trouble } = await shareReaches(stage.daemon, 'report.txt', 'failed');
  expect(trouble).toMatchObject({ code: 'share-outdated' });
});
