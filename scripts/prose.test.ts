/** Comments open with the noun or the verb that they are about, so that nobody reads one twice. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['*.ts', '*.tsx', '*.mjs', '*.js', '*.css'];

/** Openings of comments that do not name their subject. */
const RIDDLES =
  /^(?:What(?:ever)?|Who(?:ever|m|se)?|Which|(?:Of|To|For|From|With) (?:what|whom|which)|So (?:many|long|much)|That which|Those (?:that|who)|The ones\b|The one (?:that|who|of them|used)|One (?:that|who)|Else)\b/;
/** The first line of a comment, or the text of one of its tags. */
const OPENING =
  /^\s*(?:\/\*\*? |\/\*\*?\n\s*\* |\* @(?:param \w+|returns|throws) )(.*)$|(?<!^\s*\/\/.*\n)^\s*\/\/ (.*)$/gm;

/** Returns the openings of a text's comments that do not name their subject. */
function riddlesIn(text: string): string[] {
  return [...text.matchAll(OPENING)]
    .map(([, block, line]) => block ?? line ?? '')
    .filter((opening) => RIDDLES.test(opening));
}

test.each([
  ['/** What has been written is nothing worth. */', 1],
  ['/**\n * Who is found silent is asked at once.\n */', 1],
  ['/**\n * Asks.\n *\n * @returns what came\n * @param a Whom to ask\n */', 1],
  ['  // So many at a time.\nx();', 1],
  ['// Requests of one client.\n// What follows belongs to it.', 0],
  ['/** Forgets unflushed writes. */', 0],
  ["const text = 'What is this?';", 0],
])('%j has %i such openings', (text, count) => {
  expect(riddlesIn(text)).toHaveLength(count);
});

test('every comment names its subject', () => {
  const files = execFileSync('git', ['ls-files', ...SOURCES], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !file.startsWith('scripts/prose.test'));
  const riddles = files.flatMap((file) =>
    riddlesIn(readFileSync(`${ROOT}/${file}`, 'utf8')).map((opening) => `${file}: ${opening}`),
  );
  expect(riddles).toEqual([]);
  expect(files.length).toBeGreaterThan(1000);
});
