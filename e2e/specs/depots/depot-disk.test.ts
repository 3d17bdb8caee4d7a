/** Depots on disks that are full, damaged or broken. */

import { spawnSync } from 'node:child_process';
import { type FileHandle, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, test as anywhere, describe as everywhere, expect } from '@jest/globals';
import { notTested } from '../../fixtures/not-tested.ts';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import {
  appendTo,
  askDepot,
  DepotStage,
  owned,
  reserve,
  stateOf,
  store,
} from '../../fixtures/stages/depot-stage.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { becomes } from '../../fixtures/until.ts';

let mounted = '';
// Before the stage deletes its folder; the disk goes as soon as no edge uses it.
afterAll(() => void spawnSync('umount', ['-l', mounted]));

const stage = await DepotStage.set();
const MIB = 1024 * 1024;

/** Mounts a small disk. @returns false if this machine does not let us */
async function mountSmall(): Promise<boolean> {
  mounted = join(stage.folder, 'small');
  await mkdir(mounted);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', mounted]);
  if (status === 0) return true;
  notTested('no small disk could be mounted', 'depots on full disks');
  return false;
}

const { describe, test } = testsWhere(await mountSmall());

/** Takes the last room of a disk. */
async function fillUp(filler: FileHandle): Promise<void> {
  const more = async () => (await filler.write(Buffer.alloc(4096))).bytesWritten;
  while ((await more().catch(() => 0)) > 0);
}

describe('a full disk', () => {
  test('refuses what does not fit and leases that cannot be written, keeps what was acknowledged, and takes the rest later', async () => {
    const edge = await stage.start('--depot-dir', mounted, '--depot-quota', '11MiB');
    const filler = await open(join(mounted, 'filler'), 'w');
    await filler.writeFile(Buffer.alloc(5 * MIB));
    const content = contentOf('full', 10 * MIB);
    const other = await reserve(edge, 100);
    const { write, read, manage } = await reserve(edge, content.length);
    const full = await appendTo(write, 0, content, true);
    expect([full.status, full.body.code]).toEqual([507, 'allocation-refused']);
    expect(full.body.reason).toContain('disk');
    const more = await askDepot('POST', `${edge.url}/-/depot`, owned(), { bytes: 1, seconds: 60 });
    expect(more.status).toBe(507);
    await fillUp(filler);
    // A lease is written down too, and so is the length that an upload states.
    const { expires } = (await askDepot('GET', manage)).body;
    const longer = await askDepot('PATCH', manage, {}, { seconds: 7200 });
    expect([longer.status, longer.body.code]).toEqual([507, 'allocation-refused']);
    expect((await askDepot('GET', manage)).body.expires).toBe(expires);
    const small = await appendTo(other.write, 0, Buffer.alloc(10), true);
    expect([small.status, small.body.code]).toEqual([507, 'allocation-refused']);
    await filler.truncate(0);
    await filler.close();
    const offset = Number((await askDepot('HEAD', write)).headers.get('upload-offset'));
    expect(offset).toBeLessThan(content.length);
    const rest = await appendTo(write, offset, content.subarray(offset), true);
    expect([rest.status, rest.body.sha256]).toEqual([200, sha256(content)]);
    expect(sha256(Buffer.from(await (await fetch(read)).arrayBuffer()))).toBe(sha256(content));
    await edge.stop('SIGKILL');
  });
});

everywhere('a damaged disk', () => {
  anywhere(
    'has no wrong byte served: an error, or a reset where the answer has begun',
    async () => {
      const dir = join(stage.folder, 'damaged');
      const edge = await stage.start('--depot-dir', dir);
      const content = contentOf('damaged', 3 * MIB);
      for (const at of [10, 2 * MIB + 77]) {
        const links = await store(edge, content);
        const names = await readdir(join(dir, 'objects'), { recursive: true });
        const data = names
          .filter((name) => name.endsWith('data'))
          .map((name) => join(dir, 'objects', name));
        for (const path of data) {
          const file = await open(path, 'r+');
          const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
          await file.write(Buffer.from([(buffer[0] as number) ^ 1]), 0, 1, at);
          await file.close();
        }
        if (at < MIB) {
          expect((await askDepot('GET', links.read)).body.code).toBe('allocation-damaged');
        } else {
          await expect(fetch(links.read).then((answer) => answer.arrayBuffer())).rejects.toThrow();
        }
        // From then on it is known.
        await becomes(async () => (await askDepot('GET', links.read)).status, 502);
        expect((await askDepot('GET', links.manage)).body.damaged).toBe(true);
        await askDepot('DELETE', links.manage);
      }
    },
  );
});

const FAILING_DISK = fileURLToPath(
  new URL('../../fixtures/faults/failing-disk.mjs', import.meta.url),
);

everywhere('a broken disk', () => {
  anywhere(
    'ends an upload with a clear error, and loses nothing that was acknowledged',
    async () => {
      const fault = join(stage.folder, 'fault');
      const dir = join(stage.folder, 'broken');
      const edge = await stage.startWith(
        { NODE_OPTIONS: `--import ${FAILING_DISK}`, MILLRACE_TEST_DISK_FAULT: fault },
        ...['--depot-dir', dir],
      );
      const content = contentOf('broken', 3 * MIB + 5);
      const stored: string[] = [];
      // Both files, each before and while it is made durable.
      for (const call of ['writev data', 'datasync data', 'write sums', 'datasync sums']) {
        const { write, read, manage } = await reserve(edge, content.length);
        expect((await appendTo(write, 0, content.subarray(0, MIB), false)).status).toBe(204);
        await writeFile(fault, call);
        const failed = await appendTo(write, MIB, content.subarray(MIB), true);
        expect([call, failed.status, failed.body.code]).toEqual([call, 503, 'depot-disk-failed']);
        expect([call, ...(await stateOf(write))]).toEqual([call, MIB, '?0']);
        expect((await askDepot('GET', read)).body.code).toBe('upload-incomplete');
        await rm(fault);
        const rest = await appendTo(write, MIB, content.subarray(MIB), true);
        expect([call, rest.status, rest.body?.sha256]).toEqual([call, 200, sha256(content)]);
        stored.push(read);
        // A disk that does not read harms no file: it is there again when the disk is.
        await writeFile(fault, 'read data');
        expect((await askDepot('GET', read)).body.code).toBe('depot-disk-failed');
        await rm(fault);
        expect((await askDepot('GET', manage)).body.damaged).toBe(false);
      }
      // After a crash, too, bytes count that were acknowledged, and no others.
      const { write, read } = await reserve(edge, content.length);
      await appendTo(write, 0, content.subarray(0, MIB), false);
      await writeFile(fault, 'datasync data');
      expect((await appendTo(write, MIB, content.subarray(MIB), true)).status).toBe(503);
      await edge.stop('SIGKILL');
      await stage.restart(edge, '--depot-dir', dir);
      expect(await stateOf(write)).toEqual([MIB, '?0']);
      expect((await appendTo(write, MIB, content.subarray(MIB), true)).status).toBe(200);
      for (const link of [...stored, read]) {
        const answer = await fetch(link);
        expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(sha256(content));
      }
    },
  );
});
