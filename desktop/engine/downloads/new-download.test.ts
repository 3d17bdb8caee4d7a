import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DEFAULT_CATEGORIES } from '@millrace/shared/download/request/category';
import type { NewDownload } from './download-schema.ts';
import { checkFile, newRecord } from './new-download.ts';

const URL_A = 'https://a.example/dir/f%20x.iso?y=1#z';
const categories = [
  { name: 'disks', folder: 'disks', extensions: ['iso'] },
  { name: 'elsewhere', folder: '/srv/other', extensions: ['bin'] },
];
const around = { gid: '00000000000000aa', dir: '/downloads', categories, now: 5 };
const make = (part: Partial<NewDownload>) => newRecord({ urls: [URL_A], ...part }, around);

describe('a new download', () => {
  test('needs nothing but a URL', () => {
    expect(make({})).toMatchObject({
      gid: '00000000000000aa',
      state: 'queued',
      host: 'a.example',
      name: 'f x.iso',
      category: 'disks',
      createdAt: 5,
      request: {
        urls: ['https://a.example/dir/f%20x.iso?y=1'],
        dir: '/downloads/disks',
        direct: true,
        connections: 32,
        headers: {},
      },
    });
  });

  test.each([
    [{}, '/downloads/disks'],
    [{ dir: 'mine' }, '/downloads/mine'],
    [{ dir: '/mine' }, '/mine'],
    [{ file: 'x.bin' }, '/srv/other'],
    [{ category: 'elsewhere' }, '/srv/other'],
    [{ file: 'x.txt' }, '/downloads'],
  ])('with %j goes to %s', (part, dir) => {
    expect(make(part).request.dir).toBe(dir);
  });

  test('in the user’s network is told only to edges there, and not to the edge on this machine', () => {
    const [localEdge, other] = ['http://127.0.0.1:3125', 'http://10.0.0.2:3125'];
    const edges = [localEdge, other, 'https://edge.example'];
    const edgesOf = (url: string) =>
      newRecord({ urls: [url], useEdges: true }, { ...around, edges, localEdge }).request.edges;
    for (const host of ['192.168.1.5', '10.0.0.1:8080', '[fd00::1]', 'nas.local', 'printer']) {
      expect(edgesOf(`http://${host}/x.bin`)).toEqual([`${other}/`]);
    }
    expect(edgesOf('https://a.example/x.bin')).toHaveLength(3);
  });

  test('takes user name and password out of the URL', () => {
    const { request } = make({ urls: ['http://me:p%40ss@a.example/x'] });
    expect(request.urls).toEqual(['http://a.example/x']);
    expect(request.login).toEqual({ user: 'me', password: 'p@ss' });
    const login = { user: 'you', password: 'other' };
    expect(make({ urls: ['http://me:x@a.example/x'], login }).request.login).toEqual(login);
  });

  test('never sends a log-in to another host', () => {
    const urls = ['http://me:secret@a.example/x', 'http://b.example/x'];
    expect(() => make({ urls })).toThrow(/user name or password/);
  });

  test('counts equal URLs once, and leaves fragments out', () => {
    const urls = ['http://a.example/x#1', 'http://a.example/x#2', 'http://A.example:80/x'];
    expect(make({ urls }).request.urls).toEqual(['http://a.example/x']);
  });

  test.each<Partial<NewDownload>>([
    { urls: [] },
    { urls: ['ftp://a.example/'] },
    { urls: ['file:///etc/passwd'] },
    { urls: ['/etc/passwd'] },
    { urls: [`http://a.example/${'x'.repeat(9000)}`] },
    { urls: Array.from({ length: 65 }, (_, i) => `http://a.example/${i}`) },
    { connections: 0 },
    { connections: 33 },
    { connections: 1.5 },
    { limit: 0 },
    { length: -1 },
    { length: 1.5 },
    { login: { user: 'a:b', password: '' } },
    { login: { user: 'a', password: 'b\r\nc: d' } },
    { login: { user: 'a' } } as Partial<NewDownload>,
    { priority: 101 },
    { gid: 'short' },
    { category: 'unknown' },
    { redundantShare: 2 },
    { digests: [{ algorithm: 'sha256', hex: 'ab' }] },
    { headers: { 'a b': 'c' } },
    { headers: { a: 'b\r\nc: d' } },
    { headers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`h${i}`, '1'])) },
    { dir: 'a\0b' },
    { nonsense: 1 } as Partial<NewDownload>,
  ])('%j is refused', (part) => {
    expect(() => make(part)).toThrow(/cannot be (used|fetched)/);
  });

  test('knows the default categories', () => {
    const record = newRecord(
      { urls: ['http://a.example/film.mkv'] },
      { ...around, categories: DEFAULT_CATEGORIES },
    );
    expect(record).toMatchObject({ category: 'video', request: { dir: '/downloads' } });
  });
});

describe('given names', () => {
  test.each([
    ['x.iso', 'x.iso'],
    ['sub/x.iso', join('sub', 'x.iso')],
    ['con.txt', '_con.txt'],
    ['xy:z.iso', 'xy_z.iso'],
    ['.env', '.env'],
    ['desktop.ini', 'desktop.ini'],
    ['Start.lnk', 'Start.lnk'],
  ])('%s is %s', (file, expected) => expect(checkFile(file)).toBe(expected));

  test.each(['../x', '/etc/passwd', 'a/../../x', 'a\\..\\x', 'C:\\x', 'sub/', '..'])(
    '%s leads out of the folder',
    (file) => expect(() => checkFile(file)).toThrow(/below the folder/),
  );
});
