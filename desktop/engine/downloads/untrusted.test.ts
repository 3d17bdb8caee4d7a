import { describe, expect, test } from '@jest/globals';
import { importLines } from '../../cli/view/import-text.ts';
import { readOptions } from '../rpc/aria2/option-table.ts';
import { toNewDownload } from '../rpc/aria2/options.ts';
import type { NewDownload } from './download-schema.ts';
import { newDownloadSchema } from './download-schema.ts';
import { withoutDelicate } from './untrusted.ts';

const BASE = '/home/u/Downloads';
const urls = ['https://a.example/f.iso'];
const clean = (entry: Partial<NewDownload>) => withoutDelicate({ urls, ...entry }, BASE, false);

describe('an entry of an untrusted list', () => {
  test.each<[string, Partial<NewDownload>]>([
    ['folder', { dir: '/home/u/.ssh' }],
    ['name', { file: '../.bashrc' }],
    ['overwrite', { overwrite: true }],
    ['cookie-file', { cookieFile: '/home/u/cookies.txt' }],
    ['netrc', { netrc: true }],
    ['proxy', { proxy: 'http://evil.example:8080' }],
    ['proxy', { proxy: 'direct' }],
    ['headers', { headers: { Cookie: 'a=b', authorization: 'x', 'x-forwarded-for': '1' } }],
    ['edges', { edges: ['https://evil.example/'] }],
    ['other', { direct: false }],
    ['other', { useEdges: true }],
    ['other', { handOff: '00000000-0000-4000-8000-000000000000' }],
    ['other', { position: 0 }],
  ])('loses its %s and says so', (what, entry) => {
    const { download, delicate } = clean(entry);
    expect(delicate.map((part) => part.what)).toEqual([what]);
    expect(download).toEqual({ urls, listed: true, rename: true, overwrite: false });
  });

  test('keeps harmless members', () => {
    const entry = { length: 5, limit: 9, paused: true, headers: { referer: 'https://a.example/' } };
    expect(clean(entry)).toEqual({
      download: { urls, ...entry, listed: true, rename: true, overwrite: false },
      delicate: [],
    });
  });

  test('keeps folders and names below the download folder, and confines them there', () => {
    expect(clean({ dir: `${BASE}/films/.old`, file: '.a.mkv' }).download).toMatchObject({
      dir: 'films/old',
      file: 'a.mkv',
      within: BASE,
    });
    expect(clean({ file: 'films/a.mkv' }).download).toMatchObject({ within: '.' });
  });

  test('cannot widen the folder that it is confined to', () => {
    expect(clean({ file: 'a', within: '/' }).download.within).toBe('.');
    expect(clean({ within: '/' }).download.within).toBeUndefined();
  });

  test('is treated the same if it comes as aria2 options', () => {
    const options = {
      dir: '/etc/cron.d',
      out: '/../x',
      'allow-overwrite': 'true',
      'all-proxy': 'http://me:secret@evil.example/',
      header: ['cookie: secret'],
    };
    const { aria2, ...entry } = toNewDownload({}, readOptions(options, false));
    const { download, delicate } = clean({ ...entry, ...(aria2 ? { aria2 } : {}) });
    expect(download).toEqual({ urls, listed: true, rename: true, overwrite: false });
    expect(delicate.map(({ what }) => what).sort()).toEqual(
      ['folder', 'headers', 'name', 'overwrite', 'proxy'].sort(),
    );
    expect(JSON.stringify(delicate)).not.toContain('secret');
  });

  test('keeps only the members that are listed here as harmless', () => {
    const harmless = Object.keys(newDownloadSchema.shape).filter((name) => {
      const { download } = clean({ [name]: 'x' } as Partial<NewDownload>);
      return download[name as keyof NewDownload] === 'x';
    });
    const known =
      'category connections connectionsPerHost digests dir exnode file follow gid length limit login maxTries paused ' +
      'pieces priority redundancy redundantShare retryForMs sidecars startAt timeoutMs urls';
    expect(harmless.sort()).toEqual(known.split(' '));
  });
});

test('the preview names folders, parts left out and lines skipped, without control characters', () => {
  const entry = {
    line: 1,
    url: urls[0] as string,
    name: 'f.iso',
    dir: BASE,
    length: 2048,
    finished: false,
    delicate: [{ what: 'folder' as const, value: '/etc\u001b[2J' }],
  };
  const preview = { entries: [entry], skipped: [{ line: 2, reason: 'no' }] };
  const text = importLines(preview, false, undefined).join('\n');
  expect(text).toContain(`${BASE}: 1 download`);
  expect(text).toContain('f.iso');
  expect(text).toContain('Left out; --trusted takes it:\n  line 1: folder outside');
  expect(text).toContain('Not added:\n  line 2: no');
  expect(text).not.toContain('\u001b');
});
