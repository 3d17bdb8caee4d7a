/** Hand-offs through the native host: what is offered, committed, withdrawn and discarded. */

import { copyFile, mkdir, readdir, readFile, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { NativeOffer } from '@millrace/shared/bridge/native/native-api';
import { sha256 } from '../../fixtures/origins/content.ts';
import { offerOf } from '../../fixtures/programs/native-host.ts';
import { failure, HostStage } from '../../fixtures/stages/host-stage.ts';
import { becomes, until } from '../../fixtures/until.ts';

const MB = 1_000_000;
const stage = await HostStage.set();
const { origin } = stage;

describe('a hand-off', () => {
  test('brings the right file, with the headers that the browser would send', async () => {
    const host = await stage.greeted();
    const url = origin.url('none', { size: 3 * MB });
    const headers = { Cookie: 'session=1', 'User-Agent': 'Browser/1', Referer: url };
    const offer = await offerOf(url, { fileName: 'a file (1).iso', headers });
    origin.reset();
    await host.call('offer', offer);
    expect(await stage.files()).toEqual([]);
    expect(await stage.listed(host)).toEqual([]);
    expect(origin.sentBytes).toBeLessThanOrEqual(64 * 1024);
    const { gid } = await host.call('commit', { handOff: offer.handOff });
    expect(await stage.complete(host, gid)).toMatchObject({
      name: 'a file (1).iso',
      storedBytes: 3 * MB,
    });
    expect(await stage.digestOf('a file (1).iso')).toBe(origin.digest(url));
    for (const request of origin.requests) {
      expect(request.headers).toMatchObject({
        cookie: 'session=1',
        'user-agent': 'Browser/1',
        referer: url,
      });
    }
  });

  test('brings the file to the path that the browser chose, whichever process is killed meanwhile', async () => {
    await stage.cli.kill();
    await stage.cli.json('daemon', '--detach', '--port', '0');
    const pictures = join(stage.folder, 'Pictures');
    await mkdir(pictures);
    const url = origin.url('none', { size: 3 * MB });
    for (const [number, victim] of ['host', 'daemon', 'both'].entries()) {
      const host = await stage.greeted();
      const fileName = `file-${number}.iso`;
      const offer = await offerOf(url, { fileName, path: join(pictures, fileName) });
      await host.call('offer', offer);
      const committed = host.call('commit', { handOff: offer.handOff }).catch(() => undefined);
      // The commit may or may not have arrived by then.
      if (victim !== 'daemon') host.child.kill('SIGKILL');
      if (victim !== 'host') await stage.cli.kill();
      await committed;
      const next = await stage.greeted();
      const state = await next.call('offerState', { handOff: offer.handOff });
      if (state.state !== 'committed') {
        await until(async () => !(await readdir(pictures)).includes(fileName));
        await next.call('offer', offer);
      }
      const { gid } = await next.call('commit', { handOff: offer.handOff });
      await stage.complete(next, gid);
      expect(sha256(await readFile(join(pictures, fileName)))).toBe(origin.digest(url));
    }
    // The daemon removes its own files beside a download once it has recorded the completion.
    const names = 'file-0.iso,file-1.iso,file-2.iso';
    await until(async () => (await readdir(pictures)).sort().join() === names);
    expect(await readdir(join(stage.folder, 'Downloads')).catch(() => [])).toEqual([]);
  });

  test('that does not get the same file leaves nothing behind', async () => {
    const host = await stage.greeted();
    const seed = 'same';
    const good = await offerOf(origin.url('none', { seed }));
    const of = (fault: string, more: Partial<NativeOffer> = {}): Promise<NativeOffer> =>
      Promise.resolve({
        ...good,
        handOff: crypto.randomUUID(),
        url: origin.url(fault, { seed }),
        ...more,
      });
    const wrong: [string, Promise<NativeOffer>][] = [
      ['different-file', of('none', { length: good.length + 1 })],
      ['different-file', of('none', { etag: '"another"' })],
      ['different-file', offerOf(origin.url('etag-per-request'))],
      ['version-unproven', of('no-validators')],
      ['origin-denied', of('forbidden')],
      ['different-file', of('login-page')],
      // The right file and validator, but without ranges we can do no more than the browser does.
      ['range-ignored', of('no-ranges')],
      ['wrong-range', of('wrong-start')],
      ['wrong-encoding', of('gzip')],
      ['origin-reset', of('short-body')],
      ['origin-reset', of('reset-at-once')],
      ['origin-refused', of('refused')],
    ];
    const outcomes = await Promise.all(
      wrong.map(async ([, offer]) => {
        const { handOff, ...rest } = await offer;
        const error = await host.call('offer', { handOff, ...rest }).then(
          () => 'proven',
          ({ code }) => code,
        );
        const { state } = await host.call('offerState', { handOff });
        return `${error} ${state}`;
      }),
    );
    expect(outcomes).toEqual(wrong.map(([code]) => `${code} unknown`));
    expect(await stage.listed(host)).toEqual([]);
    expect(await stage.files()).toEqual([]);
  });

  test('can be withdrawn while the origin hangs, and blocks no other call meanwhile', async () => {
    const host = await stage.greeted();
    for (const fault of ['stall-header', 'stall-body']) {
      const good = await offerOf(origin.url('none', { seed: fault }));
      const { handOff } = good;
      const offered = host.call('offer', { ...good, url: origin.url(fault) });
      const failed = expect(offered).rejects.toEqual(failure('interrupted'));
      await until(async () => (await host.call('offerState', { handOff })).state === 'proving');
      await expect(host.call('commit', { handOff })).rejects.toEqual(failure('wrong-state'));
      await host.call('withdraw', { handOff });
      await failed;
      expect(await host.call('offerState', { handOff })).toEqual({ state: 'unknown' });
    }
    expect(await stage.files()).toEqual([]);
  });

  test('withdrawn after it was taken leaves no file and no download', async () => {
    const host = await stage.greeted();
    const offer = await offerOf(origin.url('none', { size: 4 * MB, seed: 'a' }));
    const gated = { ...offer, url: origin.url('gate~1r', { size: 4 * MB, seed: 'a' }) };
    await host.call('offer', gated);
    await host.call('commit', { handOff: gated.handOff });
    await until(async () => (await stage.listed(host)).some(({ storedBytes }) => storedBytes > 0));
    await host.call('withdraw', { handOff: gated.handOff });
    expect(await stage.listed(host)).toEqual([]);
    await until(async () => (await stage.files()).length === 0);
  });
});

test('a discarded download is gone, with its file', async () => {
  const host = await stage.greeted();
  const offer = await offerOf(origin.url('none'));
  await host.call('offer', offer);
  const { gid } = await host.call('commit', { handOff: offer.handOff });
  await stage.complete(host, gid);
  await host.call('withdraw', { handOff: offer.handOff });
  await until(async () => (await stage.files()).join() === 'file.bin');
  for (let i = 0; i < 2; i++) await host.call('discard', { gid });
  await becomes(() => stage.files(), []);
  expect(await stage.listed(host)).toEqual([]);
});

test('discarding a download keeps the browser’s own file, even one of the same name', async () => {
  const host = await stage.greeted();
  const taken = async (seed: string) => {
    const offer = await offerOf(origin.url('none', { seed }), { fileName: `${seed}.bin` });
    await host.call('offer', offer);
    const { gid } = await host.call('commit', { handOff: offer.handOff });
    await stage.complete(host, gid);
    return { gid, path: join(stage.cli.downloads, `${seed}.bin`) };
  };
  const same = await taken('same');
  // The browser renames its own file to the name that it chose before.
  await copyFile(same.path, `${same.path}.crdownload`);
  await rename(`${same.path}.crdownload`, same.path);
  // Symbolic links in the path make no difference.
  await symlink(stage.cli.downloads, join(stage.folder, 'link'));
  const other = await taken('other');
  const gone = await taken('gone');
  const kept = join(stage.folder, 'link', 'same.bin');
  for (const { gid } of [same, other]) {
    for (let i = 0; i < 2; i++) await host.call('discard', { gid, kept });
  }
  await host.call('discard', { gid: gone.gid, kept: join(stage.cli.downloads, 'nothing.bin') });
  await until(async () => (await stage.files()).join() === 'same.bin');
  expect(await stage.listed(host)).toEqual([]);
});
