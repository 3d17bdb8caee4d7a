import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { DownloadRecord } from '../store/record.ts';
import { exportList, importList } from './exchange.ts';
import { newRecord } from './new-download.ts';

function record(part: Partial<DownloadRecord> = {}): DownloadRecord {
  const asked = {
    urls: ['https://a.example/f.iso', 'https://b.example/f.iso'],
    headers: { cookie: 'x=y', 'x-keep': '1' },
    digests: [{ algorithm: 'sha256' as const, hex: 'ab'.repeat(32) }],
    limit: 1000,
  };
  const around = { gid: '00000000000000aa', dir: '/d', categories: [], now: 1 };
  return { ...newRecord(asked, around), ...part };
}

describe('lists of downloads', () => {
  test('our own list is read as it was written', async () => {
    const text = await exportList([record({ state: 'paused', priority: 3 })], 'json', true);
    const [one] = await importList(text, undefined);
    expect(one?.download).toMatchObject({
      gid: '00000000000000aa',
      priority: 3,
      paused: true,
      urls: record().request.urls,
      headers: { cookie: 'x=y', 'x-keep': '1' },
      limit: 1000,
    });
    expect(one?.ended).toBeUndefined();
  });

  test('secrets are left out unless the caller asks for them', async () => {
    const logged = record();
    const withProxy = {
      ...logged,
      request: {
        ...logged.request,
        proxy: 'http://me:secret@proxy.example/',
        login: { user: 'me', password: 'secret' },
      },
    };
    for (const format of ['json', 'aria2', 'urls'] as const) {
      const text = await exportList([withProxy], format, false);
      expect(text).not.toMatch(/x=y|secret/);
      if (format !== 'urls') expect(text).toContain('x-keep');
    }
    expect(await exportList([withProxy], 'json', true)).toMatch(
      /x=y[\s\S]*secret|secret[\s\S]*x=y/,
    );
  });

  test("aria2's session has all URLs of a download on one line, and its options below", async () => {
    const text = await exportList([record({ state: 'paused' })], 'aria2', true);
    expect(text).toBe(
      [
        'https://a.example/f.iso\thttps://b.example/f.iso',
        ' gid=00000000000000aa',
        ' dir=/d',
        ' header=cookie: x=y',
        ' header=x-keep: 1',
        ` checksum=sha-256=${'ab'.repeat(32)}`,
        ' max-download-limit=1000',
        ' pause=true',
        '',
      ].join('\n'),
    );
    expect(await importList(text, 'aria2')).toEqual([
      {
        at: 1,
        download: { urls: record().request.urls },
        options: {
          gid: '00000000000000aa',
          dir: '/d',
          header: ['cookie: x=y', 'x-keep: 1'],
          checksum: `sha-256=${'ab'.repeat(32)}`,
          'max-download-limit': '1000',
          pause: 'true',
        },
      },
    ]);
  });

  test('a length and a log-in survive in our format, and the log-in in aria2’s', async () => {
    const login = { user: 'me', password: 'p' };
    const one = record();
    const logged = { ...one, request: { ...one.request, login, length: 5 } };
    const [own] = await importList(await exportList([logged], 'json', true), undefined);
    expect(own?.download).toMatchObject({ login, length: 5 });
    const [session] = await importList(await exportList([logged], 'aria2', true), undefined);
    expect(session?.options).toMatchObject({ 'http-user': 'me', 'http-passwd': 'p' });
  });

  test('a value cannot add an option of its own', async () => {
    const sly = record();
    const text = await exportList(
      [{ ...sly, request: { ...sly.request, file: 'x\n dir=/etc' } }],
      'aria2',
      false,
    );
    expect((await importList(text, 'aria2'))[0]?.options).toMatchObject({ dir: '/d' });
  });

  test('a list of URLs may have comments, empty lines and Windows line ends', async () => {
    const text = '# mine\r\nhttp://a/1\r\n\r\nhttp://a/2\n  nonsense\n';
    const listed = await importList(text, undefined);
    expect(listed.map(({ at, download }) => [at, download.urls])).toEqual([
      [2, ['http://a/1']],
      [4, ['http://a/2']],
    ]);
  });

  test('a finished download keeps its outcome', async () => {
    const ended = record({
      state: 'error',
      finishedAt: 9,
      error: { code: 'origin-gone', message: 'm', detail: 'd' },
    });
    const [one] = await importList(await exportList([ended], 'json', false), 'json');
    expect(one?.ended).toMatchObject({
      state: 'error',
      finishedAt: 9,
      error: { code: 'origin-gone', message: 'm', detail: 'd' },
    });
  });

  test('a followed description and its files keep their link in our format alone', async () => {
    const gid = '00000000000000aa';
    const options = record().options;
    const description = record({
      state: 'complete',
      finishedAt: 9,
      name: 'd.torrent',
      options: { ...options, follow: 'mem', follows: 'done' },
    });
    const described = record({
      gid: '00000000000000bb',
      options: { ...options, following: gid },
    });
    const [own, file] = await importList(
      await exportList([description, described], 'json', true),
      'json',
    );
    expect(own).toMatchObject({ isFollowed: true, download: { gid, follow: 'mem' } });
    expect(file).toMatchObject({ following: gid });
    const links = await exportList([description, described], 'urls', true);
    expect(links).toMatch(/^# d\.torrent: followed to its files.*only a JSON list/);
    expect(await importList(links, 'urls')).toHaveLength(1);
    const session = await importList(
      await exportList([description, described], 'aria2', true),
      'aria2',
    );
    const followed = session.map(({ options: given }) => given?.['follow-torrent']);
    expect(followed).toEqual(['false', 'false']);
  });

  test('a description that has not been followed to the end is imported as a file like others', async () => {
    const { options } = record();
    const open = record({ state: 'complete', options: { ...options, follows: 'keep' } });
    const [one] = await importList(await exportList([open], 'json', true), 'json');
    expect(one).not.toHaveProperty('isFollowed');
  });

  test('a name that a browser gave does not become the user’s own', async () => {
    const one = record();
    const named = record({
      request: { ...one.request, file: 'd.torrent', digests: [] },
      options: { ...one.options, known: undefined },
    });
    const known = { ...named, options: { ...one.options, known: true } };
    const [browsers, own] = await importList(
      await exportList([named, known], 'json', true),
      'json',
    );
    expect([browsers?.download.follow, own?.download.follow]).toEqual([true, undefined]);
  });

  test.each([
    ['{', /not JSON/],
    ['{"a":1}', /not a list/],
    ['{"millrace":"downloads","format":99,"downloads":[]}', /newer version/],
    ['http://a/\n'.repeat(20_001), /more than 20000/],
  ])('an invalid list is refused %#', async (text, message) => {
    await expect(importList(text, undefined)).rejects.toThrow(message);
  });
});

test('a list that is null, or has error objects with their own toString, causes no crash', async () => {
  await expect(importList('null', 'json')).rejects.toThrow('not a list of downloads');
  const list = {
    millrace: 'downloads',
    format: 1,
    downloads: [{ state: 'error', error: { code: { toString: null } } }],
  };
  expect((await importList(JSON.stringify(list), 'json'))[0]?.ended?.error?.code).toBe('');
});

test('a download with many header lines is read in time proportional to them', async () => {
  const [listed] = await importList(`http://a/\n${' header=A: b\n'.repeat(80_000)}`, 'aria2');
  expect(listed?.options?.header).toHaveLength(80_000);
});

test('a list sets no actions after downloads, whoever made it and whether it is trusted or not', async () => {
  const request = { urls: ['http://a.example/x'], after: { run: 'own' } };
  const options = { after: { run: 'own' } };
  const item = { request, options, after: { run: 'own' } };
  const list = { millrace: 'downloads', format: 1, downloads: [item] };
  expect((await importList(JSON.stringify(list), 'json'))[0]?.download.after).toBeUndefined();
  const [session] = await importList('http://a.example/x\n after={"run":"own"}\n', 'aria2');
  expect(session?.download).not.toHaveProperty('after');
});

describe('a list of 10,000 downloads', () => {
  /** Counts the turns of the event loop until work has ended. */
  async function turnsUntil<T>(work: Promise<T>): Promise<{ turns: number; result: T }> {
    let isDone = false;
    const ended = work.finally(() => {
      isDone = true;
    });
    let turns = 0;
    for (; !isDone; turns++) await nextTurn();
    return { turns, result: await ended };
  }

  test.each(['json', 'urls', 'aria2'] as const)(
    'is written and read in turns, a hundred downloads at most in each: %s',
    async (format) => {
      const records = Array.from({ length: 10_000 }, () => record());
      let read = 0;
      let mostAtOnce = 0;
      function* readRecords() {
        for (const one of records) {
          read++;
          yield one;
        }
      }
      const written = exportList(readRecords(), format, true);
      for (let before = 0; before < records.length; ) {
        mostAtOnce = Math.max(mostAtOnce, read - before);
        before = read;
        if (before < records.length) await nextTurn();
      }
      // One more is read to see whether the list has ended.
      expect(mostAtOnce).toBeLessThanOrEqual(101);
      const { turns, result } = await turnsUntil(importList(await written, format));
      expect(result.length).toBe(records.length);
      expect(turns).toBeGreaterThanOrEqual(99);
    },
  );
});
