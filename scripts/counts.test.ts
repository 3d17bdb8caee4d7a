/** Counts before nouns have a singular: no text says `1 requests`. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { countsWithoutForms } from '../shared/testing/catalogues.ts';

const ROOT = new URL('..', import.meta.url);
const NOUNS =
  'allocations|blocks|bytes|chunks|clients|copies|days|depots|devices|downloads|edges|errors|files|folders|hosts|hours|links|minutes|parts|pieces|replicas|requests|seconds|shards|transfers|uploads';
/** A value before a plural, in a template; a limit in capitals is more than one. */
const COUNTED = new RegExp(`\\$\\{(?!MAX_|[A-Z_]+\\})[^}]*\\}(?: other| more)? (?:${NOUNS})\\b`);
/** Lines whose value is no count, or never one. */
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: The sources have them.
const FINE = [
  // Codes of shards.
  "[...codes].join(', ')} shards",
  // A scale ends at a multiple of ten; a mean is a decimal fraction.
  '${top} chunks',
  '${mean} chunks',
  // A map shows the first of very many.
  'edges the map shows',
  'After ${seconds(v)} edges ask',
  '=== 1 ?',
  // A day less than 48 hours is given in hours.
  'Math.floor(minutes / 1440)} days ago',
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: The sources have them.

test.each(['desktop/ui', 'desktop/shell', 'extension'])('texts of %s', (where) => {
  const folder = where === 'desktop/shell' ? where : `${where}/src`;
  const english = readFileSync(new URL(`${folder}/text/en.json`, ROOT), 'utf8');
  // The graph of the speed shows ten minutes.
  const fine = where === 'desktop/ui' ? ['details.speed.label'] : [];
  expect(countsWithoutForms(JSON.parse(english))).toEqual(fine);
});

test.each(['desktop/cli', 'edge/browser', 'edge/src/pages'])('templates of %s', (folder) => {
  const files = execFileSync('git', ['ls-files', folder], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((name) => /\.(?:ts|js)$/.test(name) && !/\.test\.ts$/.test(name));
  expect(files.length).toBeGreaterThan(5);
  const found = files.flatMap((name) =>
    readFileSync(new URL(name, ROOT), 'utf8')
      .split('\n')
      .filter((line) => COUNTED.test(line) && !FINE.some((fine) => line.includes(fine)))
      .map((line) => `${name}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
