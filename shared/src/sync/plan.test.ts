import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EMPTY_SHA256, isExecutable, type Manifest, type SyncFile } from './manifest.ts';
import { type LocalEntry, type LocalFile, planSync } from './plan.ts';
import { foldersAbove } from './sync-path.ts';

const OPTIONS = { remove: false, modes: true };
const REMOVE = { remove: true, modes: true };
const sha = (text: string) => (text === '' ? EMPTY_SHA256 : text.repeat(64).slice(0, 64));

function file(path: string, content: string, more: Partial<SyncFile> = {}): SyncFile {
  return { path, size: content.length, sha256: sha(content), mode: '644', modified: 1000, ...more };
}

function local(content: string, more: Partial<LocalFile> = {}): LocalFile {
  const own = { size: content.length, sha256: sha(content) };
  return { kind: 'file', executable: false, modified: 1000, ...own, ...more };
}

const manifest = (files: SyncFile[], folders: string[] = []): Manifest => ({
  url: 'https://example.com/',
  folders,
  files,
});
const folder: LocalEntry = { kind: 'folder' };
const link: LocalEntry = { kind: 'link' };
const plan = (m: Manifest, entries: Record<string, LocalEntry>, options = OPTIONS) =>
  planSync(m, new Map(Object.entries(entries)), options);

describe('a plan', () => {
  test('for an empty folder fetches everything', () => {
    const made = plan(manifest([file('a', 'x'), file('b/c', 'yy'), file('b/d', '')], ['e/f']), {});
    expect(made.fetch.map((w) => w.places.map((p) => p.path))).toEqual([['a'], ['b/c'], ['b/d']]);
    expect(made).toMatchObject({ folders: ['b', 'e', 'e/f'], fetchFiles: 3, fetchBytes: 3 });
  });

  test('fetches only files with another length or digest', () => {
    const made = plan(
      manifest([file('same', 'x'), file('longer', 'yy'), file('other', 'z'), file('new', 'w')]),
      { same: local('x'), longer: local('y'), other: local('q') },
    );
    expect(made.fetch.map((w) => w.file.path)).toEqual(['longer', 'other', 'new']);
    expect(made).toMatchObject({ unchanged: 1, settle: [], remove: [], obstacles: [] });
  });

  test('fetches equal content once, and copies content of a file that stays', () => {
    const made = plan(manifest([file('a', 'x'), file('b', 'x'), file('c', 'y'), file('d', 'y')]), {
      a: local('x'),
    });
    expect(made.fetch.map((w) => w.places.map((p) => p.path))).toEqual([['c', 'd']]);
    expect(made.copy).toMatchObject([{ from: 'a', places: [{ path: 'b' }] }]);
    expect(made.fetchBytes).toBe(1);
  });

  test('only settles files in which just the time or the execution bit is wrong', () => {
    const made = plan(manifest([file('a', 'x', { mode: '755' }), file('b', 'y'), file('c', 'z')]), {
      a: local('x'),
      b: local('y', { modified: 7 }),
      c: local('z'),
    });
    expect(made.settle.map(({ path }) => path)).toEqual(['a', 'b']);
    expect(made).toMatchObject({ fetch: [], unchanged: 1 });
  });

  test('ignores execution bits on systems without them', () => {
    const made = plan(
      manifest([file('a', 'x', { mode: '755' })]),
      { a: local('x') },
      {
        remove: false,
        modes: false,
      },
    );
    expect(made.unchanged).toBe(1);
  });

  test('replaces a link in place of a file, and stops at a link in place of a folder', () => {
    const wanted = manifest([file('a', 'x'), file('b/c', 'y')]);
    expect(plan(wanted, { a: link, b: folder })).toMatchObject({ obstacles: [], fetchFiles: 2 });
    expect(plan(wanted, { b: link }).obstacles).toEqual([{ path: 'b', kind: 'link' }]);
    expect(plan(wanted, { b: link }, REMOVE)).toMatchObject({ obstacles: [], clear: ['b'] });
  });

  test('stops at a folder in place of a file, or with removal clears it, inner entries first', () => {
    const entries = { a: folder, 'a/b': folder, 'a/b/c': local('q'), 'a/d': link };
    const wanted = manifest([file('a', 'x')]);
    expect(plan(wanted, entries).obstacles).toEqual([{ path: 'a', kind: 'folder' }]);
    const made = plan(wanted, entries, REMOVE);
    expect(made.clear).toEqual(['a/b/c', 'a/d', 'a/b', 'a']);
    expect(made.remove).toEqual([]);
  });

  test('removes unlisted entries, files first, but none that may be a listed file on some system', () => {
    const made = plan(
      manifest([file('Read', 'x'), file('b/c', 'y')], ['e']),
      {
        read: local('x'),
        extra: local('q'),
        'b/more': link,
        b: folder,
        e: folder,
        z: folder,
        'z/y': folder,
        'z/y/x': local('q'),
      },
      REMOVE,
    );
    expect(made.remove).toEqual(['b/more', 'extra', 'z/y/x', 'z/y', 'z']);
  });
});

describe('carrying a plan out', () => {
  const paths = ['a', 'b', 'c', 'd/e', 'd/f', 'g/h/i'];
  const content = fc.constantFrom('', 'x', 'y', 'zz');
  const files = fc
    .uniqueArray(fc.constantFrom(...paths), { minLength: 1 })
    .chain((chosen) =>
      fc.tuple(...chosen.map((path) => fc.tuple(fc.constant(path), content, fc.boolean()))),
    )
    .map((all) => all.map(([path, text, run]) => file(path, text, run ? { mode: '755' } : {})));
  const entry: fc.Arbitrary<LocalEntry> = fc.oneof(
    fc.constantFrom(folder, link, { kind: 'special' } as const),
    fc.tuple(content, fc.boolean()).map(([text, executable]) => local(text, { executable })),
  );
  const tree = fc
    .dictionary(fc.constantFrom(...paths, 'd', 'g', 'g/h', 'x', 'd/x', 'a/x'), entry)
    .map((all) => {
      // Only folders have entries in them.
      const kept = Object.entries(all).filter(([path]) =>
        foldersAbove(path).every((above) => all[above]?.kind === 'folder'),
      );
      return new Map(kept);
    });

  test('brings the folder to the state of the manifest unless there is an obstacle', () => {
    fc.assert(
      fc.property(files, tree, fc.boolean(), (wanted, before, remove) => {
        const all = manifest(wanted);
        const made = planSync(all, before, { remove, modes: true });
        if (made.obstacles.length > 0) return expect(remove).toBe(false);
        const after = carryOut(made, before);
        for (const { path, sha256, mode } of wanted) {
          expect(after.get(path)).toMatchObject({
            kind: 'file',
            sha256,
            executable: isExecutable({ mode }),
          });
          for (const above of foldersAbove(path)) expect(after.get(above)?.kind).toBe('folder');
        }
        const again = planSync(all, after, { remove, modes: true });
        expect(again).toMatchObject({
          fetch: [],
          copy: [],
          settle: [],
          remove: [],
          clear: [],
          folders: [],
        });
        if (!remove) for (const path of before.keys()) expect(after.has(path)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

/** Carries a plan out in memory. @throws Error if a step is impossible */
function carryOut(made: ReturnType<typeof planSync>, before: ReadonlyMap<string, LocalEntry>) {
  const now = new Map(before);
  const put = (path: string, entry: LocalEntry) => {
    for (const above of foldersAbove(path)) expect(now.get(above)?.kind).toBe('folder');
    expect(now.get(path)?.kind).not.toBe('folder');
    now.set(path, entry);
  };
  const drop = (path: string) => {
    expect(now.has(path)).toBe(true);
    expect([...now.keys()].some((other) => other.startsWith(`${path}/`))).toBe(false);
    now.delete(path);
  };
  const asFile = (entry: SyncFile) => {
    const { size, sha256, modified } = entry;
    put(entry.path, { kind: 'file', size, sha256, modified, executable: isExecutable(entry) });
  };
  made.clear.forEach(drop);
  for (const path of made.folders) put(path, folder);
  for (const { places } of [...made.fetch, ...made.copy]) places.forEach(asFile);
  made.settle.forEach(asFile);
  made.remove.forEach(drop);
  return now;
}
