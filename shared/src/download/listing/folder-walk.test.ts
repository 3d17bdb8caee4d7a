import { describe, expect, test } from '@jest/globals';
import { FolderWalk } from './folder-walk.ts';

describe('a walk through folders', () => {
  const file = (url: string, folder = '') => ({ url, folder, isFolder: false });
  const dir = (url: string) => ({ url, folder: '', isFolder: true });
  const listing = (...links: ReturnType<typeof file>[]) => ({
    isListing: true,
    links,
    truncated: false,
  });
  const walkAll = (walk: FolderWalk, pages: Record<string, ReturnType<typeof listing>>) => {
    const read: string[] = [];
    for (let step = walk.next(); step !== undefined; step = walk.next()) {
      read.push(step.url);
      walk.took(step, step.url, pages[step.url] ?? listing());
    }
    return read;
  };
  const pages = {
    'http://h/p/': listing(dir('http://h/p/a/'), file('http://h/p/1'), dir('http://h/p/-rf/')),
    'http://h/p/a/': listing(dir('http://h/p/a/b/'), file('http://h/p/a/2'), dir('http://h/p/')),
    'http://h/p/a/b/': listing(file('http://h/p/a/b/3'), dir('http://h/p/a/b/c/')),
    'http://h/p/-rf/': listing(file('http://h/p/-rf/4'), file('http://h/p/1')),
  };

  test('goes no deeper than asked, no page twice, and tells the folder of each file', () => {
    const walk = new FolderWalk('http://h/p/', 2);
    expect(walkAll(walk, pages)).toHaveLength(4);
    const { files, folders, truncated } = walk.result();
    expect(files.map(({ url, folder }) => [url.slice(11), folder])).toEqual([
      ...[
        ['1', ''],
        ['-rf/4', '_-rf'],
        ['a/2', 'a'],
        ['a/b/3', 'a/b'],
      ],
    ]);
    expect([folders, truncated]).toEqual([1, false]);
    const shallow = new FolderWalk('http://h/p/', 0);
    expect(walkAll(shallow, pages)).toEqual(['http://h/p/']);
    expect(shallow.result()).toMatchObject({ folders: 2, files: [{ url: 'http://h/p/1' }] });
  });

  test('takes nothing from a folder that leads elsewhere or to another page', () => {
    const walk = new FolderWalk('http://h/p/', 1);
    const first = walk.next();
    if (first === undefined) throw new Error('there is a first page');
    walk.took(first, 'http://h/p/', pages['http://h/p/']);
    const [one, two] = [walk.next(), walk.next()];
    if (one === undefined || two === undefined) throw new Error('there are two folders');
    walk.took(one, 'http://other/p/a/', listing(file('http://other/p/a/x')));
    walk.took(two, two.url, { ...listing(file('http://h/p/y')), isListing: false });
    expect(walk.result().files.map(({ url }) => url)).toEqual(['http://h/p/1']);
  });

  test('reads the further pages of a folder, and ends, however many a server makes up', () => {
    const go = (more: (n: number) => string | undefined) => {
      const walk = new FolderWalk('http://h/p/', 0);
      let n = 0;
      for (let step = walk.next(); step !== undefined; step = walk.next()) {
        const next = more(++n);
        walk.took(step, step.url, {
          ...listing(file(`http://h/p/${n}`)),
          ...(next === undefined ? {} : { next: `http://h/p/?token=${next}` }),
        });
      }
      return walk.result();
    };
    const three = go((n) => (n < 3 ? String(n) : undefined));
    expect(three.files.map(({ url }) => url.slice(11))).toEqual(['1', '2', '3']);
    expect([three.folders, three.truncated]).toEqual([0, false]);
    expect(go(() => 'same').files).toHaveLength(2);
    const endless = go(String);
    expect([endless.files.length, endless.truncated]).toEqual([300, true]);
  });

  test('ends, however many folders a server makes up', () => {
    const walk = new FolderWalk('http://h/', 8);
    let pagesRead = 0;
    for (let step = walk.next(); step !== undefined; step = walk.next()) {
      pagesRead++;
      const links = Array.from({ length: 50 }, (_, i) => dir(`${step?.url}${i}/`));
      walk.took(step, step.url, listing(...links, file(`${step.url}f`)));
    }
    expect(pagesRead).toBe(300);
    expect(walk.result().truncated).toBe(true);
  });
});
