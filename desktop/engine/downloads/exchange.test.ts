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
  test('our own list is read as it was written', () => {
    const text = exportList([record({ state: 'paused', priority: 3 })], 'json', true);
    const [one] = importList(text, undefined);
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

  test('secrets are left out unless the caller asks for them', () => {
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
      const text = exportList([withProxy], format, false);
      expect(text).not.toMatch(/x=y|secret/);
      if (format !== 'urls') expect(text).toContain('x-keep');
    }
    expect(exportList([withProxy], 'json', true)).toMatch(/x=y[\s\S]*secret|secret[\s\S]*x=y/);
  });

  test("aria2's session has all URLs of a download on one line, and its options below", () => {
    const text = exportList([record({ state: 'paused' })], 'aria2', true);
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
    expect(importList(text, 'aria2')).toEqual([
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

  test('a length and a log-in survive in our format, and the log-in in aria2’s', () => {
    const login = { user: 'me', password: 'p' };
    const one = record();
    const logged = { ...one, request: { ...one.request, login, length: 5 } };
    const [own] = importList(exportList([logged], 'json', true), undefined);
    expect(own?.download).toMatchObject({ login, length: 5 });
    const [session] = importList(exportList([logged], 'aria2', true), undefined);
    expect(session?.options).toMatchObject({ 'http-user': 'me', 'http-passwd': 'p' });
  });

  test('a value cannot add an option of its own', () => {
    const sly = record();
    const text = exportList(
      [{ ...sly, request: { ...sly.request, file: 'x\n dir=/etc' } }],
      'aria2',
      false,
    );
    expect(importList(text, 'aria2')[0]?.options).toMatchObject({ dir: '/d' });
  });

  test('a list of URLs may have comments, empty lines and Windows line ends', () => {
    const text = '# mine\r\nhttp://a/1\r\n\r\nhttp://a/2\n  nonsense\n';
    const listed = importList(text, undefined);
    expect(listed.map(({ at, download }) => [at, download.urls])).toEqual([
      [2, ['http://a/1']],
      [4, ['http://a/2']],
    ]);
  });

  test('a finished download keeps its outcome', () => {
    const ended = record({
      state: 'error',
      finishedAt: 9,
      error: { code: 'origin-gone', message: 'm', detail: 'd' },
    });
    const [one] = importList(exportList([ended], 'json', false), 'json');
    expect(one?.ended).toMatchObject({
      state: 'error',
      finishedAt: 9,
      error: { code: 'origin-gone', message: 'm', detail: 'd' },
    });
  });

  test.each([
    ['{', /not JSON/],
    ['{"a":1}', /not a list/],
    ['{"millrace":"downloads","format":99,"downloads":[]}', /newer version/],
    ['http://a/\n'.repeat(20_001), /more than 20000/],
  ])('an invalid list is refused %#', (text, message) => {
    expect(() => importList(text, undefined)).toThrow(message);
  });
});

test('a list that is null, or has error objects with their own toString, causes no crash', () => {
  expect(() => importList('null', 'json')).toThrow('not a list of downloads');
  const list = {
    millrace: 'downloads',
    format: 1,
    downloads: [{ state: 'error', error: { code: { toString: null } } }],
  };
  expect(importList(JSON.stringify(list), 'json')[0]?.ended?.error?.code).toBe('');
});

test('a download with many header lines is read in time proportional to them', () => {
  const [listed] = importList(`http://a/\n${' header=A: b\n'.repeat(80_000)}`, 'aria2');
  expect(listed?.options?.header).toHaveLength(80_000);
});

test('a list sets no actions after downloads, whoever made it and whether it is trusted or not', () => {
  const request = { urls: ['http://a.example/x'], after: { run: 'own' } };
  const options = { after: { run: 'own' } };
  const item = { request, options, after: { run: 'own' } };
  const list = { millrace: 'downloads', format: 1, downloads: [item] };
  expect(importList(JSON.stringify(list), 'json')[0]?.download.after).toBeUndefined();
  const [session] = importList('http://a.example/x\n after={"run":"own"}\n', 'aria2');
  expect(session?.download).not.toHaveProperty('after');
});
