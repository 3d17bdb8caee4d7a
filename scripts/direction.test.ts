/** Checks that styles of the interfaces follow the reading direction of their language. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Folders of translated pages; the edge's pages are in English only. */
const FOLDERS = ['desktop/ui', 'extension', 'shared/style'];

/**
 * Style sheets for Chromium 83, which has no logical insets: they have extra rules for right to
 * left.
 */
const WITHOUT_INSETS = /^(?:desktop\/ui|shared)\//;

/** Declarations for one side of the screen, except in the middle, where both sides are alike. */
const PHYSICAL =
  /^\s*(?:(?:margin|padding|border)-(?:left|right)\b.*|(?:left|right): (?!50%;).*|(?:text-align|float|transform-origin): (?:left|right);|.*translateX\((?!calc\(.*--forward|0\)|-50%\)).*|(?:margin|padding): \S+ (\S+) \S+ (?!\1;)\S+;)/gm;

function physicalIn(text: string): string[] {
  return [...text.matchAll(PHYSICAL)].map(([whole]) => whole.trim());
}

/**
 * Returns the selectors of rules whose insets differ by side, without a rule for the other
 * direction.
 */
function oneSidedIn(text: string): string[] {
  return [...text.matchAll(/^ *([^@{}\n]*(?:,\n[^@{}\n]*)*) \{\n([^{}]*)\}/gm)].flatMap(
    ([, selector = '', body = '']) => {
      const [, right, left] = /\binset: \S+ (\S+) \S+ (\S+);/.exec(body) ?? [];
      if (right === left || selector.includes('[dir="rtl"]')) return [];
      return selector
        .split(/,\s*/)
        .filter((one) => !text.includes(`:root[dir="rtl"] ${one.trim()}`));
    },
  );
}

test.each([
  ['  margin-left: 4px;', 1],
  ['  left: 0;', 1],
  ['  left: 50%;', 0],
  ['  text-align: right;', 1],
  ['  padding: 1px 2px 3px 4px;', 1],
  ['  padding: 1px 2px 3px 2px;', 0],
  ['  padding: 1px 2px 3px;', 0],
  ['  transform: translateX(14px);', 1],
  ['  transform: translateX(calc(14px * var(--forward)));', 0],
  ['  transform: translateX(-50%);', 0],
  ['  inset-inline-start: 0;', 0],
])('%j has %i one-sided declarations', (text, count) => {
  expect(physicalIn(text)).toHaveLength(count);
});

test('insets that differ by side need a rule for the other direction', () => {
  const rule = '.close,\n.open {\n  inset: 1px 2px auto auto;\n}\n';
  expect(oneSidedIn(rule)).toEqual(['.close', '.open']);
  const other = ':root[dir="rtl"] .close {\n  inset: 1px auto auto 2px;\n}\n';
  expect(oneSidedIn(rule + other)).toEqual(['.open']);
  expect(oneSidedIn('.row {\n  inset: 0 4px auto 4px;\n}\n')).toEqual([]);
});

test('no style is for the left or the right side alone', () => {
  const files = execFileSync('git', ['ls-files', ...FOLDERS.map((folder) => `${folder}/*.css`)], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '');
  const found = files.flatMap((file) =>
    physicalIn(readFileSync(`${ROOT}/${file}`, 'utf8')).map((line) => `${file}: ${line}`),
  );
  expect(found).toEqual([]);
  for (const file of files.filter((name) => WITHOUT_INSETS.test(name))) {
    const text = readFileSync(`${ROOT}/${file}`, 'utf8');
    expect({ file, oneSided: oneSidedIn(text) }).toEqual({ file, oneSided: [] });
    expect({ file, logical: text.match(/inset-inline.*/g) }).toEqual({ file, logical: null });
  }
  expect(files.length).toBeGreaterThan(15);
});
