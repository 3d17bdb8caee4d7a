/** Lists of downloads that somebody else has written: what importing them may do. */

import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DaemonStage, digestOf } from '../../fixtures/stages/daemon-stage.ts';

const stage = await DaemonStage.forEachTest();
const { origin } = stage;

describe('a list of a stranger', () => {
  const importText = (text: string, more: object = {}) =>
    stage.daemon.call('millrace.import', { text, ...more });

  test('writes below the download folder, whatever folder, name or link it names', async () => {
    const downloads = join(stage.folder, 'downloads');
    const home = join(stage.folder, 'home');
    await mkdir(join(home, '.ssh'), { recursive: true });
    await symlink(home, join(downloads, 'videos'));
    const victim = join(home, '.ssh', 'authorized_keys');
    await writeFile(victim, 'mine');
    const url = (seed: string) => origin.url('none', { seed, name: 'stranger.bin' });
    const list = [
      `${url('1')}\n dir=${join(home, '.ssh')}\n out=authorized_keys\n allow-overwrite=true`,
      `${url('2')}\n dir=videos/.ssh\n out=authorized_keys\n allow-overwrite=true`,
      `${url('3')}\n dir=${downloads}/../home/.ssh\n out=../authorized_keys`,
      `${url('4')}\n dir=.ssh\n out=.profile`,
    ].join('\n');
    const { gids } = await importText(list);
    await stage.daemon.reaches(gids[0] as string, 'complete');
    await stage.daemon.reaches(gids[1] as string, 'error');
    await stage.daemon.reaches(gids[2] as string, 'complete');
    await stage.daemon.reaches(gids[3] as string, 'complete');
    expect(await readFile(victim, 'utf8')).toBe('mine');
    expect(await readdir(join(home, '.ssh'))).toEqual(['authorized_keys']);
    expect(await readdir(home)).toEqual(['.ssh']);
    expect(await digestOf(join(downloads, 'authorized_keys'))).toBe(origin.digest(url('1')));
    expect(await digestOf(join(downloads, 'ssh', 'profile'))).toBe(origin.digest(url('4')));
  });

  test('replaces no file, and reads no cookie file and no netrc, unless it is trusted', async () => {
    const cookieFile = join(stage.folder, 'cookies.txt');
    const name = 'replaced.bin';
    const path = join(stage.folder, 'downloads', name);
    await writeFile(path, 'mine');
    const url = stage.gated(name);
    const request = { urls: [url], file: name, overwrite: true, cookieFile, netrc: true };
    const item = { state: 'paused', request: { ...request, headers: { cookie: 'a=b' } } };
    const text = JSON.stringify({ millrace: 'downloads', format: 1, downloads: [item] });
    const preview = await stage.daemon.call('millrace.previewImport', { text });
    const kinds = preview.entries[0]?.delicate.map(({ what }) => what).sort();
    expect(kinds).toEqual(['cookie-file', 'headers', 'netrc', 'overwrite']);
    const requestOf = async (given: object) => {
      const { gids } = await importText(text, given);
      const { text: out } = await stage.daemon.call('millrace.export', {
        format: 'json',
        which: 'queue',
        secrets: true,
      });
      const { downloads } = JSON.parse(out) as { downloads: { gid: string; request: object }[] };
      const { request: made } = downloads.find(({ gid }) => gid === gids[0]) ?? {};
      await stage.daemon.call('millrace.remove', { gids, forget: true });
      return made;
    };
    const made = await requestOf({});
    expect(made).toMatchObject({ file: name, overwrite: false, headers: {} });
    expect(made).not.toHaveProperty('cookieFile');
    expect(made).not.toHaveProperty('netrc');
    expect(await requestOf({ trusted: true })).toMatchObject({ overwrite: true, cookieFile });
    expect(await readFile(path, 'utf8')).toBe('mine');
  });
});
