/** Each picture in the repository is shown by a document or goes into the store, or is the icon. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const ROOT = new URL('..', import.meta.url);
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter(Boolean);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
/** The icon is the source of all icons. */
const ICON = 'shared/style/icon.svg';

/** Returns the pictures that a document shows, as paths from the root. */
function shownBy(document: string): string[] {
  const links = read(document).matchAll(
    /(?:\]\(|(?:src|srcset)=")([^)"\s]+\.(?:png|svg|webp|gif|jpe?g))/g,
  );
  return [...links].map(([, link]) => {
    const { pathname } = new URL(link as string, `https://root/${document}`);
    return pathname.slice(1);
  });
}

test('each committed picture is shown or used', () => {
  const list = /SCREENSHOTS = \[(.*?)\]/s.exec(read('scripts/store-packages.mjs'))?.[1] ?? '';
  const store = [...list.matchAll(/'(.+?)'/g)].map(
    ([, name]) => `extension/screenshots/${name}.png`,
  );
  const documents = tracked.filter((name) => name.endsWith('.md'));
  const used = new Set([ICON, ...store, ...documents.flatMap(shownBy)]);
  const pictures = tracked.filter((name) => /\.(?:png|svg|webp|gif|jpe?g)$/.test(name));
  expect(store).not.toEqual([]);
  expect(pictures.filter((name) => !used.has(name))).toEqual([]);
});
