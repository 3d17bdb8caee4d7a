import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { NativeOffer } from '@millrace/shared/bridge/native/native-api';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { FakeDaemon, until } from '../../testing/fake-daemon.ts';
import { holdName } from '../files/held-name.ts';
import { SettingStore } from '../store/small-stores.ts';
import { BrowserPlaces } from './browser-place.ts';
import { HeldNames } from './held-names.ts';
import { MAX_OFFERS, OFFER_KEPT_MS, Offers, PROOF_TIMEOUT_MS } from './offers.ts';

const HOUR = 3600_000;
const nameOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const FIRST = nameOf(1);

function offerOf(number: number, more: Partial<NativeOffer> = {}): NativeOffer {
  const url = `https://files.example/${number}.iso`;
  return {
    handOff: nameOf(number),
    url,
    finalUrl: url,
    fileName: `${number}.iso`,
    length: 1000,
    etag: '"a"',
    headers: { 'User-Agent': 'Browser/1', Referer: 'https://files.example/' },
    edges: [],
    ...more,
  };
}

let daemon: FakeDaemon;
let offers: Offers;
let names: HeldNames;
/** The user's home folder, with the browser's folder in it. */
let home: string;
let clock = 0;
/** Stands in for the origins: rejects if the request does not bring the file. */
let prove: (request: DownloadRequest, signal: AbortSignal) => Promise<void>;
const asked: DownloadRequest[] = [];

function open(): void {
  const { manager } = daemon;
  names = new HeldNames(manager, new SettingStore(daemon.db));
  names.sweep();
  offers = new Offers({
    manager,
    names,
    places: new BrowserPlaces({
      manager,
      dir: daemon.folder,
      chosen: false,
      state: join(home, 'state'),
      home,
    }),
    prove: (request, _offered, signal) => {
      asked.push(request);
      return prove(request, signal);
    },
    now: () => daemon.now,
    clock: () => clock,
  });
}

async function reopen(): Promise<void> {
  await names.close();
  await daemon.shut();
  daemon.open();
  open();
}

const hangs = (_: DownloadRequest, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
const code = (code: string) => expect.objectContaining({ code });
const downloads = () => daemon.manager.unfinished();

beforeEach(() => {
  daemon = new FakeDaemon();
  home = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-home-')));
  mkdirSync(join(home, 'Pictures'));
  prove = async () => {};
  asked.length = 0;
  open();
});
afterEach(async () => {
  offers.close();
  await names.close();
  await daemon.remove();
  rmSync(home, { recursive: true, force: true });
});

describe('an offer', () => {
  test('becomes a download when it is committed, and not before', async () => {
    await offers.offer(offerOf(1));
    expect(offers.state(FIRST)).toEqual({ state: 'proven' });
    expect(downloads()).toEqual([]);
    const gid = offers.commit(FIRST);
    expect(offers.state(FIRST)).toEqual({ state: 'committed', gid });
    const { request, name, options } = daemon.manager.get(gid);
    expect(name).toBe('1.iso');
    expect(options).toMatchObject({ rename: true, handOff: FIRST });
    expect(request).toMatchObject({
      urls: ['https://files.example/1.iso'],
      length: 1000,
      headers: { 'user-agent': 'Browser/1', referer: 'https://files.example/' },
      edges: [],
    });
    // The proven request is the one that is downloaded.
    expect(asked).toEqual([{ ...request, file: '1.iso' }]);
  });

  test('made twice counts once, even after it was committed, after a restart, and after a change', async () => {
    const both = Promise.all([offers.offer(offerOf(1)), offers.offer(offerOf(1))]);
    await both;
    expect(asked).toHaveLength(1);
    const gid = offers.commit(FIRST);
    expect(offers.commit(FIRST)).toBe(gid);
    daemon.manager.change(gid, { priority: 3 });
    await reopen();
    expect(offers.commit(FIRST)).toBe(gid);
    await offers.offer(offerOf(1));
    expect(offers.state(FIRST)).toEqual({ state: 'committed', gid });
    expect(downloads()).toHaveLength(1);
  });

  test('is remembered for a day, even after the download is complete', async () => {
    await offers.offer(offerOf(1));
    const gid = offers.commit(FIRST);
    await until(() => daemon.runs.length === 1);
    await daemon.runs[0]?.complete();
    expect(offers.state(FIRST)).toEqual({ state: 'committed', gid });
    daemon.now += 25 * HOUR;
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
  });

  test('with the same hand-off and another file is refused', async () => {
    await offers.offer(offerOf(1));
    const other = { ...offerOf(1), length: 999 };
    expect(() => offers.offer(other)).toThrow(code('bad-option'));
    expect(offers.state(FIRST)).toEqual({ state: 'proven' });
  });

  test('leaves nothing if it cannot be proven', async () => {
    prove = async () => {
      throw new MillraceError('different-file');
    };
    await expect(offers.offer(offerOf(1))).rejects.toEqual(code('different-file'));
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    expect(() => offers.commit(FIRST)).toThrow(code('no-such-download'));
    const bad = offerOf(2, { url: 'https://' });
    await expect(offers.offer(bad)).rejects.toEqual(code('bad-url'));
    expect(downloads()).toEqual([]);
  });

  test('cannot be committed before it is proven', () => {
    prove = hangs;
    offers.offer(offerOf(1)).catch(() => {});
    expect(offers.state(FIRST)).toEqual({ state: 'proving' });
    expect(() => offers.commit(FIRST)).toThrow(code('wrong-state'));
  });

  test('that is not committed in time is forgotten', async () => {
    await offers.offer(offerOf(1));
    clock += OFFER_KEPT_MS + 1;
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    expect(() => offers.commit(FIRST)).toThrow(code('no-such-download'));
  });

  test('fails at the time limit if the origin hangs', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      prove = hangs;
      const proof = offers.offer(offerOf(1));
      const failed = expect(proof).rejects.toEqual(code('origin-timeout'));
      await jest.advanceTimersByTimeAsync(PROOF_TIMEOUT_MS);
      await failed;
      expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    } finally {
      jest.useRealTimers();
    }
  });

  test('is refused while there are too many', async () => {
    prove = hangs;
    for (let i = 0; i < MAX_OFFERS; i++) offers.offer(offerOf(i)).catch(() => {});
    expect(() => offers.offer(offerOf(MAX_OFFERS))).toThrow(code('queue-full'));
    await offers.withdraw(FIRST);
    prove = async () => {};
    await offers.offer(offerOf(MAX_OFFERS));
  });
});

describe('a withdrawn offer', () => {
  test('leaves nothing, and can be made again at once', async () => {
    prove = hangs;
    const first = offers.offer(offerOf(1));
    const failed = expect(first).rejects.toEqual(code('interrupted'));
    await offers.withdraw(FIRST);
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    prove = async () => {};
    await offers.offer(offerOf(1));
    await failed;
    expect(offers.state(FIRST)).toEqual({ state: 'proven' });
    await offers.withdraw(FIRST);
    expect(() => offers.commit(FIRST)).toThrow(code('no-such-download'));
    expect(downloads()).toEqual([]);
  });

  test('ends the download that it has become, but never deletes a complete file', async () => {
    await offers.offer(offerOf(1));
    offers.commit(FIRST);
    await until(() => daemon.runs.length === 1);
    await offers.withdraw(FIRST);
    expect(downloads()).toEqual([]);
    expect(offers.state(FIRST)).toEqual({ state: 'unknown' });
    await offers.offer(offerOf(2));
    const gid = offers.commit(nameOf(2));
    await until(() => daemon.runs.length === 2);
    await daemon.runs[1]?.complete();
    await offers.withdraw(nameOf(2));
    expect(daemon.manager.get(gid).state).toBe('complete');
  });
});

describe('edges', () => {
  const edges = ['http://edge.example:3125/'];

  test('are used without fields that identify the user', async () => {
    await offers.offer(offerOf(1, { edges }));
    const { request } = daemon.manager.get(offers.commit(FIRST));
    expect(request).toMatchObject({ edges, headers: { 'user-agent': 'Browser/1' } });
  });

  test('are not used if the origin gives the file to this browser only', async () => {
    prove = async ({ headers }) => {
      if (headers.referer === undefined) throw new MillraceError('origin-denied');
    };
    await offers.offer(offerOf(1, { edges }));
    const { request } = daemon.manager.get(offers.commit(FIRST));
    expect(request.edges).toEqual([]);
    expect(request.headers.referer).toBe('https://files.example/');
    expect(asked).toHaveLength(2);
  });

  test('are not used if a redirect leads into a private network', async () => {
    const finalUrl = 'http://10.0.0.1/1.iso';
    await offers.offer(offerOf(1, { edges, finalUrl }));
    expect(daemon.manager.get(offers.commit(FIRST)).request.edges).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  test.each(['Cookie', 'authorization'])('are never used with %s', async (name) => {
    await offers.offer(offerOf(1, { edges, headers: { [name]: 'a=b' } }));
    const { request } = daemon.manager.get(offers.commit(FIRST));
    expect(request).toMatchObject({ edges: [], headers: { [name.toLowerCase()]: 'a=b' } });
    expect(asked).toHaveLength(1);
  });
});

describe('the browser’s place for a download', () => {
  const pictures = () => join(home, 'Pictures');
  const there = () => readdirSync(pictures());
  const offerAt = (number: number, path = join(pictures(), `${number}.iso`)) =>
    offerOf(number, { path });

  async function take(number: number, path?: string): Promise<string> {
    await offers.offer(offerAt(number, path));
    return offers.commit(nameOf(number));
  }

  test('has its name held until the download is removed', async () => {
    const gid = await take(1);
    expect(daemon.manager.get(gid).request).toMatchObject({ dir: pictures(), file: '1.iso' });
    expect(readFileSync(join(pictures(), '1.iso'), 'utf8')).toContain(FIRST);
    await offers.withdraw(FIRST);
    await until(() => there().length === 0);
  });

  test('has its name held over a restart, but no longer once the file is complete', async () => {
    const gid = await take(1);
    await until(() => daemon.runs.length === 1);
    await reopen();
    await until(() => daemon.runs.length === 2);
    expect(there()).toEqual(['1.iso']);
    const path = join(pictures(), '1.iso');
    writeFileSync(path, 'the file');
    await daemon.runs.at(-1)?.complete();
    await until(() => daemon.manager.get(gid).state === 'complete');
    await names.close();
    expect(readFileSync(path, 'utf8')).toBe('the file');
  });

  test('keeps an existing file of that name, and the download goes to the app’s folder', async () => {
    writeFileSync(join(pictures(), '1.iso'), 'another');
    const gid = await take(1);
    expect(daemon.manager.get(gid).request.dir).toBe(daemon.folder);
    expect(readFileSync(join(pictures(), '1.iso'), 'utf8')).toBe('another');
    expect(there()).toEqual(['1.iso']);
  });

  test('keeps the files of another download under that name', async () => {
    daemon.add('a', { dir: pictures(), file: '1.iso', paused: true });
    expect(daemon.manager.get(await take(1)).request.dir).toBe(daemon.folder);
    writeFileSync(join(pictures(), '2.iso.millrace-part'), 'left');
    expect(daemon.manager.get(await take(2)).request.dir).toBe(daemon.folder);
    expect(there()).toEqual(['2.iso.millrace-part']);
  });

  test('is given up for the app’s folder, not for another name there, if the held name is lost', async () => {
    const gid = await take(1);
    await until(() => daemon.runs.length === 1);
    writeFileSync(join(daemon.folder, '1.iso'), 'there before');
    writeFileSync(join(pictures(), '1.iso'), 'the user’s');
    await daemon.runs[0]?.fail(new MillraceError('file-exists', join(pictures(), '1.iso')));
    await until(() => daemon.runs.length === 2);
    const { request } = daemon.manager.get(gid);
    expect(request).toMatchObject({ dir: daemon.folder, file: '1.1.iso' });
    expect(request.held).toBeUndefined();
    expect(readFileSync(join(pictures(), '1.iso'), 'utf8')).toBe('the user’s');
    expect(there()).toEqual(['1.iso']);
  });

  test('loses a held name whose daemon was killed before it added the download', async () => {
    const path = join(pictures(), '9.iso');
    new SettingStore(daemon.db).set('held-names', [{ path, token: nameOf(9) }]);
    holdName(path, nameOf(9));
    await reopen();
    await until(() => there().length === 0);
  });

  test('loses a held name whose download cannot be added', async () => {
    const path = join(pictures(), '9.iso');
    const adding = () =>
      names.while(path, nameOf(9), () => {
        expect(existsSync(path)).toBe(true);
        throw new MillraceError('disk-full');
      });
    expect(adding).toThrow(code('disk-full'));
    await until(() => there().length === 0);
  });

  test('has no name held that cannot be recorded', async () => {
    await offers.offer(offerAt(1));
    daemon.db.exec('PRAGMA query_only = 1');
    expect(() => offers.commit(FIRST)).toThrow(MillraceError);
    daemon.db.exec('PRAGMA query_only = 0');
    await until(() => there().length === 0);
  });

  test.each<[what: string, path: () => string]>([
    ['a hidden folder', () => join(home, '.ssh', '1.iso')],
    ['the home folder', () => join(home, '1.iso')],
    ['the app’s state', () => join(home, 'state', '1.iso')],
    ['a folder that is not there', () => join(home, 'none', '1.iso')],
    ['a link out of the home folder', () => join(home, 'link', '1.iso')],
    ['a link to a hidden folder', () => join(home, 'to-hidden', '1.iso')],
    ['a way that leads up', () => `${home}/Pictures/../.ssh/1.iso`],
    ['a relative path', () => 'Pictures/1.iso'],
    ['another name than that of the file', () => join(pictures(), 'authorized_keys')],
    ['a file', () => join(home, 'plain', '1.iso')],
  ])('is not believed: %s', async (_, path) => {
    for (const name of ['.ssh', 'state']) mkdirSync(join(home, name));
    symlinkSync('/usr', join(home, 'link'));
    symlinkSync(join(home, '.ssh'), join(home, 'to-hidden'));
    writeFileSync(join(home, 'plain'), '');
    const gid = await take(1, path());
    expect(daemon.manager.get(gid).request).toMatchObject({ dir: daemon.folder, file: '1.iso' });
    expect([
      ...there(),
      ...readdirSync(join(home, '.ssh')),
      ...readdirSync(join(home, 'state')),
    ]).toEqual([]);
  });

  test('is the folder itself if a link to it stays below the home folder', async () => {
    symlinkSync(pictures(), join(home, 'link'));
    const gid = await take(1, join(home, 'link', '1.iso'));
    expect(daemon.manager.get(gid).request.dir).toBe(pictures());
  });

  test('is not used if the user has chosen a folder, or has switched it off', async () => {
    const { settings } = daemon.manager;
    settings.app = { ...settings.app, browserFolder: false };
    expect(daemon.manager.get(await take(1)).request.dir).toBe(daemon.folder);
    settings.app = { ...settings.app, browserFolder: true };
    settings.dir = join(home, 'Chosen');
    expect(daemon.manager.get(await take(2)).request.dir).toBe(join(home, 'Chosen'));
    settings.dir = undefined;
    const [images, ...more] = settings.categories;
    settings.categories = [{ ...images, folder: 'Images' } as typeof images & object, ...more];
    expect(daemon.manager.get(await take(3)).request.dir).toBe(join(daemon.folder, 'Images'));
    settings.categories = [{ ...images, folder: '' } as typeof images & object, ...more];
    expect(daemon.manager.get(await take(4)).request.dir).toBe(pictures());
  });
});
