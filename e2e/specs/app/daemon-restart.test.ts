/** The daemon after the end of its process, even by a kill: it keeps its state, and continues. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type ByteRange, intersect } from '@millrace/shared/base/byte-range';
import { parseJournal } from '@millrace/shared/download/journal/journal';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { DaemonStage, digestOf } from '../../fixtures/stages/daemon-stage.ts';
import { until } from '../../fixtures/until.ts';

const stage = await DaemonStage.forEachTest();
const { origin } = stage;

/** Returns whether a download has noted in its journal that some of it is on disk. */
async function isNoted(name: string): Promise<boolean> {
  const journal = join(stage.folder, 'downloads', `${name}.millrace-journal`);
  const text = await readFile(journal, 'utf8').catch(() => '');
  return text.split('\n').length > 2;
}

/** Reads the ranges that the journal names. */
async function noted(name: string): Promise<readonly ByteRange[]> {
  const text = await readFile(join(stage.folder, 'downloads', `${name}.millrace-journal`), 'utf8');
  return parseJournal(text)?.entries.map(({ range }) => range) ?? [];
}

/** Parses the Range field of a request of the daemon. */
function parseRange(field: string | undefined): ByteRange {
  expect(field).toMatch(/^bytes=\d+-\d+$/);
  const [, first, last] = /(\d+)-(\d+)/.exec(field ?? '') ?? [];
  return { start: Number(first), end: Number(last) + 1 };
}

describe('after the end of the process', () => {
  test('kill -9: running downloads resume where they were, and paused ones stay paused', async () => {
    const urls = ['one', 'two', 'three'].map((seed) =>
      stage.gated(`killed ${seed}`, `${seed}.bin`),
    );
    const gids: string[] = [];
    for (const url of urls) gids.push(await stage.daemon.add({ urls: [url] }));
    const [one, two, three] = gids as [string, string, string];
    for (const name of ['one', 'two', 'three']) await until(() => isNoted(`${name}.bin`));
    await stage.daemon.call('millrace.pause', { gids: [three] });
    await stage.daemon.stop('SIGKILL');
    const kept = await Promise.all(['one', 'two'].map((name) => noted(`${name}.bin`)));
    const before = origin.requests.length;
    origin.openGate();

    await stage.startAgain();
    for (const [i, gid] of [one, two].entries()) {
      const { path } = await stage.daemon.reaches(gid, 'complete');
      expect(await digestOf(path)).toBe(origin.digest(urls[i] as string));
      const requests = origin.requests
        .slice(before)
        .filter((r) => new URL(urls[i] as string).href.endsWith(r.path));
      // The first request finds out what the file is. The others ask for no byte that is on disk.
      const asked = requests.slice(1).map(({ headers }) => parseRange(headers.range));
      expect(asked.length).toBeGreaterThan(0);
      expect(kept[i]?.length).toBeGreaterThan(0);
      for (const range of asked) {
        for (const one of kept[i] ?? []) expect(intersect(range, one)).toBeUndefined();
      }
    }
    expect((await stage.daemon.status(three)).status).toBe('paused');
    await stage.daemon.call('millrace.resume', { gids: [three] });
    const { path } = await stage.daemon.reaches(three, 'complete');
    expect(await digestOf(path)).toBe(origin.digest(urls[2] as string));
    expect(await stage.settledDownloads()).toEqual(['one.bin', 'three.bin', 'two.bin']);
  });

  test('settings, order and history are kept', async () => {
    await stage.daemon.call('millrace.setLimits', { concurrent: 1, perHost: 3, limit: 1e9 });
    const done = await stage.daemon.add({ urls: [origin.url('none', { name: 'done.bin' })] });
    await stage.daemon.reaches(done, 'complete');
    const gids: string[] = [];
    for (const seed of ['a', 'b', 'c']) {
      gids.push(await stage.daemon.add({ urls: [stage.gated(seed)], paused: true }));
    }
    await stage.daemon.call('millrace.move', { gid: gids[2], position: 0 });
    expect(await stage.daemon.stop()).toBe(0);
    await stage.startAgain();
    expect(await stage.daemon.call('millrace.getLimits')).toMatchObject({
      concurrent: 1,
      perHost: 3,
    });
    const { downloads: all } = await stage.daemon.call('millrace.list');
    const [a, b, c] = gids as [string, string, string];
    expect(all.map((one) => one.gid)).toEqual([c, a, b, done]);
  });

  test('an unreadable database is moved aside with a note, and the daemon starts with a new one', async () => {
    const gid = await stage.daemon.add({ urls: [origin.url('none', { name: 'kept.bin' })] });
    await stage.daemon.reaches(gid, 'complete');
    await stage.daemon.stop();
    const path = join(stage.folder, 'state', 'downloads.db');
    await writeFile(path, 'this is not a database, whatever its name says');
    await stage.startAgain();
    // The log comes by a pipe of its own.
    const note = /was damaged[\s\S]*moved to .*downloads\.db\.damaged-/;
    await until(() => note.test(stage.daemon.log.join('\n')));
    const names = await readdir(join(stage.folder, 'state'));
    expect(names.filter((name) => name.includes('damaged'))).toHaveLength(1);
    expect(await stage.daemon.call('millrace.list')).toMatchObject({ total: 0 });
  });

  test('only one daemon at a time can use a state folder', async () => {
    await expect(DaemonProcess.start(stage.folder)).rejects.toThrow(
      new RegExp(
        `A daemon is running already.*process ${stage.daemon.child.pid} at ${stage.daemon.url}`,
      ),
    );
    expect(await stage.daemon.call('millrace.info')).toMatchObject({ pid: stage.daemon.child.pid });
  });
});

test.each(['millrace.add', 'aria2.addUri'] as const)(
  'a paused download continues when %s gives its file again, after a restart, and another file does not touch it',
  async (method) => {
    const link = (seed: string) =>
      origin.url('none', { seed, size: 4_000_000, name: 'signed.iso' });
    const add = async (url: string) =>
      method === 'aria2.addUri'
        ? ((await stage.daemon.call(method, [url])) as string)
        : stage.daemon.add({ urls: [url] });
    const gid = await stage.daemon.add({ urls: [stage.gated('signed', 'signed.iso')] });
    await stage.daemon.partly(gid);
    await stage.daemon.call('millrace.pause', { gids: [gid] });
    await stage.daemon.stop();
    await stage.startAgain();
    const other = await add(link('other'));
    expect(other).not.toBe(gid);
    const { name, path } = await stage.daemon.reaches(other, 'complete');
    expect(name).toBe('signed.1.iso');
    expect(await digestOf(path)).toBe(origin.digest(link('other')));
    expect(await stage.daemon.status(gid)).toMatchObject({ status: 'paused' });

    expect(await add(link('signed'))).toBe(gid);
    const whole = await stage.daemon.reaches(gid, 'complete');
    expect(whole.name).toBe('signed.iso');
    expect(await digestOf(whole.path)).toBe(origin.digest(link('signed')));
    expect(await stage.settledDownloads()).toEqual(['signed.1.iso', 'signed.iso']);
  },
);
