import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import { until } from '../../testing/fake-daemon.ts';
import { code, FIRST, nameOf, OffersStage, offerOf } from '../../testing/offers-stage.ts';
import { holdName } from '../files/held-name.ts';
import { SettingStore } from '../store/small-stores.ts';

const stage = OffersStage.forEachTest();

describe('the browser’s place for a download', () => {
  const pictures = () => join(stage.home, 'Pictures');
  const there = () => readdirSync(pictures());
  const offerAt = (number: number, path = join(pictures(), `${number}.iso`)) =>
    offerOf(number, { path });

  async function take(number: number, path?: string): Promise<string> {
    await stage.offers.offer(offerAt(number, path));
    return stage.offers.commit(nameOf(number));
  }

  test('has its name held until the download is removed', async () => {
    const gid = await take(1);
    expect(stage.daemon.manager.get(gid).request).toMatchObject({ dir: pictures(), file: '1.iso' });
    expect(readFileSync(join(pictures(), '1.iso'), 'utf8')).toContain(FIRST);
    await stage.offers.withdraw(FIRST);
    await until(() => there().length === 0);
  });

  test('has its name held over a restart, but no longer once the file is complete', async () => {
    const gid = await take(1);
    await until(() => stage.daemon.runs.length === 1);
    await stage.reopen();
    await until(() => stage.daemon.runs.length === 2);
    expect(there()).toEqual(['1.iso']);
    const path = join(pictures(), '1.iso');
    writeFileSync(path, 'the file');
    await stage.daemon.runs.at(-1)?.complete();
    await until(() => stage.daemon.manager.get(gid).state === 'complete');
    await stage.names.close();
    expect(readFileSync(path, 'utf8')).toBe('the file');
  });

  test('keeps an existing file of that name, and the download goes to the app’s folder', async () => {
    writeFileSync(join(pictures(), '1.iso'), 'another');
    const gid = await take(1);
    expect(stage.daemon.manager.get(gid).request.dir).toBe(stage.daemon.folder);
    expect(readFileSync(join(pictures(), '1.iso'), 'utf8')).toBe('another');
    expect(there()).toEqual(['1.iso']);
  });

  test('keeps the files of another download under that name', async () => {
    stage.daemon.add('a', { dir: pictures(), file: '1.iso', paused: true });
    expect(stage.daemon.manager.get(await take(1)).request.dir).toBe(stage.daemon.folder);
    writeFileSync(join(pictures(), '2.iso.millrace-part'), 'left');
    expect(stage.daemon.manager.get(await take(2)).request.dir).toBe(stage.daemon.folder);
    expect(there()).toEqual(['2.iso.millrace-part']);
  });

  test('is given up for the app’s folder, not for another name there, if the held name is lost', async () => {
    const gid = await take(1);
    await until(() => stage.daemon.runs.length === 1);
    writeFileSync(join(stage.daemon.folder, '1.iso'), 'there before');
    writeFileSync(join(pictures(), '1.iso'), 'the user’s');
    await stage.daemon.runs[0]?.fail(new MillraceError('file-exists', join(pictures(), '1.iso')));
    await until(() => stage.daemon.runs.length === 2);
    const { request } = stage.daemon.manager.get(gid);
    expect(request).toMatchObject({ dir: stage.daemon.folder, file: '1.1.iso' });
    expect(request.held).toBeUndefined();
    expect(readFileSync(join(pictures(), '1.iso'), 'utf8')).toBe('the user’s');
    expect(there()).toEqual(['1.iso']);
  });

  test('loses a held name whose daemon was killed before it added the download', async () => {
    const path = join(pictures(), '9.iso');
    new SettingStore(stage.daemon.db).set('held-names', [{ path, token: nameOf(9) }]);
    holdName(path, nameOf(9));
    await stage.reopen();
    await until(() => there().length === 0);
  });

  test('loses a held name whose download cannot be added', async () => {
    const path = join(pictures(), '9.iso');
    const adding = () =>
      stage.names.while(path, nameOf(9), () => {
        expect(existsSync(path)).toBe(true);
        throw new MillraceError('disk-full');
      });
    expect(adding).toThrow(code('disk-full'));
    await until(() => there().length === 0);
  });

  test('has no name held that cannot be recorded', async () => {
    await stage.offers.offer(offerAt(1));
    stage.daemon.db.exec('PRAGMA query_only = 1');
    expect(() => stage.offers.commit(FIRST)).toThrow(MillraceError);
    stage.daemon.db.exec('PRAGMA query_only = 0');
    await until(() => there().length === 0);
  });

  test.each<[what: string, path: () => string]>([
    ['a hidden folder', () => join(stage.home, '.ssh', '1.iso')],
    ['the home folder', () => join(stage.home, '1.iso')],
    ['the app’s state', () => join(stage.home, 'state', '1.iso')],
    ['a folder that is not there', () => join(stage.home, 'none', '1.iso')],
    ['a link out of the home folder', () => join(stage.home, 'link', '1.iso')],
    ['a link to a hidden folder', () => join(stage.home, 'to-hidden', '1.iso')],
    ['a way that leads up', () => `${stage.home}/Pictures/../.ssh/1.iso`],
    ['a relative path', () => 'Pictures/1.iso'],
    ['another name than that of the file', () => join(pictures(), 'authorized_keys')],
    ['a file', () => join(stage.home, 'plain', '1.iso')],
  ])('is not believed: %s', async (_, path) => {
    for (const name of ['.ssh', 'state']) mkdirSync(join(stage.home, name));
    symlinkSync('/usr', join(stage.home, 'link'));
    symlinkSync(join(stage.home, '.ssh'), join(stage.home, 'to-hidden'));
    writeFileSync(join(stage.home, 'plain'), '');
    const gid = await take(1, path());
    expect(stage.daemon.manager.get(gid).request).toMatchObject({
      dir: stage.daemon.folder,
      file: '1.iso',
    });
    expect([
      ...there(),
      ...readdirSync(join(stage.home, '.ssh')),
      ...readdirSync(join(stage.home, 'state')),
    ]).toEqual([]);
  });

  test('is the folder itself if a link to it stays below the home folder', async () => {
    symlinkSync(pictures(), join(stage.home, 'link'));
    const gid = await take(1, join(stage.home, 'link', '1.iso'));
    expect(stage.daemon.manager.get(gid).request.dir).toBe(pictures());
  });

  test('is not used if the user has chosen a folder, or has switched it off', async () => {
    const { settings } = stage.daemon.manager;
    settings.app = { ...settings.app, browserFolder: false };
    expect(stage.daemon.manager.get(await take(1)).request.dir).toBe(stage.daemon.folder);
    settings.app = { ...settings.app, browserFolder: true };
    settings.dir = join(stage.home, 'Chosen');
    expect(stage.daemon.manager.get(await take(2)).request.dir).toBe(join(stage.home, 'Chosen'));
    settings.dir = undefined;
    const [images, ...more] = settings.categories;
    settings.categories = [{ ...images, folder: 'Images' } as typeof images & object, ...more];
    expect(stage.daemon.manager.get(await take(3)).request.dir).toBe(
      join(stage.daemon.folder, 'Images'),
    );
    settings.categories = [{ ...images, folder: '' } as typeof images & object, ...more];
    expect(stage.daemon.manager.get(await take(4)).request.dir).toBe(pictures());
  });
});
