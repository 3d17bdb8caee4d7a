import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { DOCUMENTS, documentUrl, generate } from './docs.ts';

test.each(Object.keys(DOCUMENTS))('%s matches the programs', async (path) => {
  const text = readFileSync(documentUrl(path), 'utf8');
  // If this fails: npm run docs
  expect(text).toBe(await generate(path, text));
});

test('every test, benchmark and experiment that a document names exists', () => {
  const texts = ['README.md', 'e2e/README.md', 'BENCHMARKS.md'].map((path) =>
    readFileSync(documentUrl(path), 'utf8'),
  );
  const within = (folder: string) => readdirSync(new URL(`../${folder}`, import.meta.url));
  const specs = within('e2e/specs').flatMap((room) => within(`e2e/specs/${room}`));
  const there: Record<string, (name: string) => boolean> = {
    e2e: (name) => specs.some((file) => file.startsWith(name)),
    sim: (name) => within('e2e/sim/experiments').includes(`${name}.ts`),
    // One file may hold several experiments, whose names begin with the file's name.
    lab: (name) => within('e2e/lab/experiments').some((file) => name.startsWith(file.slice(0, -3))),
    bench: (name) =>
      ['', '/depots', '/deltas'].some((room) => within(`e2e/bench${room}`).includes(`${name}.ts`)),
  };
  const missing: string[] = [];
  let found = 0;
  for (const text of texts) {
    for (const [command, kind, name] of text.matchAll(
      /npm run (?:-s )?(e2e|sim|lab|bench)(?: --)? (?!-)([\w-]+)/g,
    )) {
      found++;
      if (name !== 'NAME' && there[kind as string]?.(name as string) !== true)
        missing.push(command);
    }
  }
  expect(missing).toEqual([]);
  expect(found).toBeGreaterThan(30);
});

test('every test that SECURITY.md names is in the named file', () => {
  const text = readFileSync(documentUrl('SECURITY.md'), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`: “([^”]+)”/g)];
  const missing = named.filter(([, path, title]) => {
    const file = new URL(`../${path}`, import.meta.url);
    return !existsSync(file) || !readFileSync(file, 'utf8').includes(title as string);
  });
  expect(missing.map(([whole]) => whole)).toEqual([]);
  // Each attack names at least one test.
  const attacks = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('.test.ts'));
  expect(named.length).toBeGreaterThanOrEqual(attacks.length);
  expect(attacks.length).toBeGreaterThan(20);
});

describe('links of documents', () => {
  const documents = readdirSync(documentUrl(''), { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.md$/.test(path) && !/(^|[\\/])(node_modules|dist)[\\/]/.test(path),
  );
  /** Anchors that GitHub derives from headings, and explicit ones. */
  const anchors = (text: string) => [
    ...[...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      (title as string)
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id),
  ];

  test.each(documents)('%s links only to files and headings that exist', (path) => {
    const text = readFileSync(documentUrl(path), 'utf8');
    const broken = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
      ([, file = '', anchor]) => {
        const target = file === '' ? documentUrl(path) : new URL(file, documentUrl(path));
        if (!existsSync(target)) return true;
        return anchor !== undefined && !anchors(readFileSync(target, 'utf8')).includes(anchor);
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test('README.md is short', () => {
    const lines = readFileSync(documentUrl('README.md'), 'utf8').split('\n');
    expect(lines.length).toBeLessThanOrEqual(161);
  });
});
