/** The daemon: its downloads, from their names to their removal. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DaemonProcess } from '../../fixtures/programs/daemon.ts';
import { DaemonStage, digestOf } from '../../fixtures/stages/daemon-stage.ts';
import { becomes, until } from '../../fixtures/until.ts';

const MB = 1_000_000;

const stage = await DaemonStage.forEachTest();
const { origin } = stage;

describe('a download', () => {
  test('is saved under the name in its URL, with every byte right', async () => {
    const url = origin.url('none', { size: 3 * MB, name: 'a%20file.iso' });
    const gid = await stage.daemon.add({ urls: [url] });
    const view = await stage.daemon.reaches(gid, 'complete');
    expect(view).toMatchObject({ name: 'a file.iso', storedBytes: 3 * MB });
    expect(await digestOf(view.path)).toBe(origin.digest(url));
    expect(await stage.settledDownloads()).toEqual(['a file.iso']);
  });

  test('fails with the reason, and completes with a new link', async () => {
    const url = origin.url('not-found');
    const gid = await stage.daemon.add({ urls: [url] });
    const view = await stage.daemon.reaches(gid, 'error');
    expect(view).toMatchObject({ error: { code: 'origin-not-found' }, expiredLink: true });
    const { downloads: expired } = await stage.daemon.call('millrace.expired');
    expect(expired.map((one) => one.gid)).toEqual([gid]);
    const better = origin.url('none');
    await stage.daemon.call('millrace.replaceUrl', { gid, url: better });
    const { path } = await stage.daemon.reaches(gid, 'complete');
    expect(await digestOf(path)).toBe(origin.digest(better));
  });

  test('whose name is taken gets the next free name', async () => {
    const urls = ['a', 'b', 'c'].map((seed) => origin.url('none', { seed, name: 'same.tar.gz' }));
    await writeFile(join(stage.folder, 'downloads', 'same.tar.gz'), 'mine');
    const gids: string[] = [];
    for (const url of urls) gids.push(await stage.daemon.add({ urls: [url] }));
    for (const [i, gid] of gids.entries()) {
      const { path } = await stage.daemon.reaches(gid, 'complete');
      expect(await digestOf(path)).toBe(origin.digest(urls[i] as string));
    }
    const names = ['same.tar.1.gz', 'same.tar.2.gz', 'same.tar.3.gz', 'same.tar.gz'];
    expect(await stage.settledDownloads()).toEqual(names);
    expect(await readFile(join(stage.folder, 'downloads', 'same.tar.gz'), 'utf8')).toBe('mine');
  });

  test('that is removed leaves nothing, unless its bytes are to be kept', async () => {
    for (const deletePartial of [false, true]) {
      const name = `${deletePartial ? 'gone' : 'kept'}.bin`;
      const gid = await stage.daemon.add({ urls: [stage.gated(`removed ${deletePartial}`, name)] });
      const parts = async () => (await stage.downloads()).filter((part) => part.startsWith(name));
      await stage.daemon.partly(gid);
      await stage.daemon.call('millrace.remove', { gids: [gid], deletePartial, now: true });
      expect(await stage.daemon.status(gid)).toMatchObject({ status: 'removed' });
      await until(async () => (await parts()).length === (deletePartial ? 0 : 2));
    }
  });

  test('that is removed at any moment leaves nothing', async () => {
    for (let i = 0; i < 12; i++) {
      const asked = origin.requests.length;
      const gid = await stage.daemon.add({ urls: [stage.gated(`moment ${i}`)] });
      // The removal comes after the first request, after the first file, or at once.
      if (i % 3 === 0) await until(() => origin.requests.length > asked);
      if (i % 3 === 1) await until(async () => (await stage.downloads()).length > 0);
      const method = i % 2 === 0 ? 'millrace.remove' : 'aria2.remove';
      await stage.daemon.call(method, i % 2 === 0 ? { gids: [gid], now: true } : gid);
      await until(async () => (await stage.downloads()).length === 0);
    }
  });

  test('that has failed leaves nothing when it is removed', async () => {
    const url = stage.gated('failed');
    const gid = await stage.daemon.add({ urls: [url], maxTries: 1 });
    await stage.daemon.partly(gid);
    origin.replace(url, 'gone');
    // This call replaces the link without the check that the interface makes.
    await stage.daemon.call('aria2.changeUri', gid, 1, [url], [origin.url('not-found')]);
    await stage.daemon.reaches(gid, 'error');
    expect(await stage.settledDownloads()).toHaveLength(2);
    await stage.daemon.call('millrace.remove', { gids: [gid], now: true });
    await until(async () => (await stage.downloads()).length === 0);
  });

  test('whose name belongs to a partial file gets the next free name', async () => {
    const begun = await stage.daemon.add({ urls: [stage.gated('begun', 'x.bin')] });
    await stage.daemon.partly(begun);
    await stage.daemon.call('millrace.remove', { gids: [begun], deletePartial: false });
    const url = origin.url('none', { seed: 'other', name: 'x.bin' });
    const view = await stage.daemon.reaches(await stage.daemon.add({ urls: [url] }), 'complete');
    expect(view.name).toBe('x.1.bin');
    expect(await digestOf(view.path)).toBe(origin.digest(url));
    const named = await stage.daemon.add({ urls: [url], file: 'x.bin' });
    expect(await stage.daemon.reaches(named, 'error')).toMatchObject({
      error: { code: 'different-file' },
    });
    await stage.daemon.call('millrace.retry', { gids: [begun] });
    origin.openGate();
    expect((await stage.daemon.reaches(begun, 'complete')).name).toBe('x.bin');
  });

  test('continues in another folder, under another name', async () => {
    const url = stage.gated('moving', 'x.bin');
    const gid = await stage.daemon.add({ urls: [url] });
    await stage.daemon.partly(gid);
    const dir = join(stage.folder, 'other');
    await stage.daemon.call('millrace.change', { gid, dir, file: 'y.bin' });
    origin.openGate();
    const { path } = await stage.daemon.reaches(gid, 'complete');
    expect(path).toBe(join(dir, 'y.bin'));
    expect(await digestOf(path)).toBe(origin.digest(url));
    await becomes(() => stage.downloads(), []);
  });

  test('sends the header fields, the referrer and the log-in that it was given', async () => {
    const url = origin.url('none').replace('http://', 'http://me:secret@');
    const headers = { Cookie: 'a=b', Referer: 'http://example.com/', 'User-Agent': 'test/1' };
    await stage.daemon.reaches(await stage.daemon.add({ urls: [url], headers }), 'complete');
    expect(origin.requests.length).toBeGreaterThan(0);
    for (const request of origin.requests) {
      expect(request.headers).toMatchObject({
        cookie: 'a=b',
        referer: 'http://example.com/',
        'user-agent': 'test/1',
        authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
      });
    }
  });

  test('does not show the log-in that it was given', async () => {
    const login = { user: 'me', password: 'secret' };
    const url = origin.url('none');
    const gid = await stage.daemon.add({ urls: [url], login });
    const view = await stage.daemon.reaches(gid, 'complete');
    expect(origin.requests[0]?.headers.authorization).toMatch(/^Basic /);
    const options = { 'http-user': 'me', 'http-passwd': 'secret' };
    const other = await stage.daemon.call('aria2.addUri', [url], { ...options, out: 'other.bin' });
    const shown = [
      view,
      await stage.daemon.call('aria2.getOption', other),
      await stage.daemon.call('aria2.tellStatus', other),
      await stage.daemon.call('millrace.list', {}),
      await stage.daemon.call('millrace.export', { format: 'json' }),
    ];
    expect(JSON.stringify(shown)).not.toMatch(/secret|bWU6c2VjcmV0/);
    const all = await stage.daemon.call('millrace.export', { format: 'json', secrets: true });
    expect(JSON.stringify(all)).toContain('secret');
  });

  test('is saved in the folder of its category', async () => {
    const categories = [{ name: 'disks', folder: 'to/disks', extensions: ['iso'] }];
    await stage.daemon.call('millrace.setCategories', { categories });
    const url = origin.url('none', { name: 'x.iso' });
    const view = await stage.daemon.reaches(await stage.daemon.add({ urls: [url] }), 'complete');
    expect(view.category).toBe('disks');
    expect(view.path).toBe(join(stage.folder, 'downloads', 'to', 'disks', 'x.iso'));
    expect(await digestOf(view.path)).toBe(origin.digest(url));
  });

  test('from a Metalink document has its size and digest checked', async () => {
    const url = origin.url('none');
    const metalink = (digest: string, size = 1_500_000) =>
      Buffer.from(
        `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="m.bin"><size>${size}</size>
         <hash type="sha-256">${digest}</hash><url>${url.replaceAll('&', '&amp;')}</url>
         </file></metalink>`,
      ).toString('base64');
    const addMetalink = async (document: string) => {
      const gids = await stage.daemon.call('aria2.addMetalink', document);
      return (gids as [string])[0];
    };
    const bad = await addMetalink(metalink('0'.repeat(64)));
    expect(await stage.daemon.reaches(bad, 'error')).toMatchObject({
      error: { code: 'checksum-mismatch' },
    });
    const digest = origin.digest(url);
    const long = await addMetalink(metalink(digest, 1_500_001));
    expect(await stage.daemon.reaches(long, 'error')).toMatchObject({
      error: { code: 'different-file', detail: 'it has 1500000 bytes instead of 1500001 bytes' },
    });
    const good = await addMetalink(metalink(digest));
    const { path, name } = await stage.daemon.reaches(good, 'complete');
    expect(name).toBe('m.bin');
    expect(await digestOf(path)).toBe(origin.digest(url));
  });
});

test('an impossible port is refused by the name of its option and its variable', async () => {
  const started = DaemonProcess.start(join(stage.folder, 'other'), ['--port', 'abc']);
  await expect(started).rejects.toThrow('--port or MILLRACE_DAEMON_PORT: "abc" is no port');
});
