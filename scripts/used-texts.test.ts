/** Every text of the interfaces is shown somewhere: no language translates what nobody reads. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const fileOf = (path: string) => new URL(`../${path}`, import.meta.url);

/** Reads the sources of some folders as one text, without tests and generated files. */
function sourcesOf(folders: readonly string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(fileOf(folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.tsx?$/.test(name) && !/node_modules|\.test\.|placeholders/.test(name))
        .map((name) => readFileSync(fileOf(`${folder}/${name}`), 'utf8')),
    )
    .join('\n');
}

/** Patterns of the keys that template literals make, such as `state.${status}`. */
function madeKeys(sources: string): RegExp[] {
  return [...sources.matchAll(/`([\w.-]*(?:\$\{[^}]*\}[\w.-]*)+)`/g)].flatMap(([, template]) => {
    const parts = (template as string).split(/\$\{[^}]*\}/);
    // A template with nothing of a key in it would match all.
    if (!parts.some((part) => part.includes('.'))) return [];
    return new RegExp(`^${parts.map((part) => part.replaceAll('.', '\\.')).join('.+')}$`);
  });
}

test.each([
  ['desktop/ui/src/text/en.json', ['desktop/ui/src', 'shared/src', 'shared/ui']],
  ['desktop/shell/text/en.json', ['desktop/shell']],
  ['extension/src/text/en.json', ['extension/src', 'shared/src', 'shared/ui']],
])('no text of %s is dead', (path, folders) => {
  const keys = Object.keys(JSON.parse(readFileSync(fileOf(path), 'utf8')));
  const sources = sourcesOf(folders);
  const words = new Set([...sources.matchAll(/['"`]([\w.-]+)['"`]/g)].map(([, word]) => word));
  const made = madeKeys(sources);
  const dead = keys.filter((key) => {
    const text = key.replace(/\.(?:zero|one|two|few|many|other)$/, '');
    return ![key, text].some((name) => words.has(name) || made.some((m) => m.test(name)));
  });
  expect(dead).toEqual([]);
});
