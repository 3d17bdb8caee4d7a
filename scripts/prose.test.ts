/**
 * Comments open with the noun or the verb that they are about, so that nobody reads one twice;
 * docstrings of functions say first what the function does; and sentences say that something is not
 * a number, instead of that it is no number or that it is none.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['*.ts', '*.tsx', '*.mjs', '*.js', '*.css'];
const DOCUMENTS = ['*.md'];

/** Openings of comments that do not name their subject. */
const RIDDLES =
  /^(?:What(?:ever)?|Who(?:ever|m|se)?|Which|(?:Of|To|For|From|With) (?:what|whom|which)|So (?:many|long|much)|That which|Those (?:that|who)|The ones\b|The one (?:that|who|of them|used)|One (?:that|who)|Else)\b/;
/** The first line of a comment, or the text of one of its tags. */
const OPENING =
  /^\s*(?:\/\*\*? |\/\*\*?\n\s*\* |\* @(?:param \w+|returns|throws) )(.*)$|(?<!^\s*\/\/.*\n)^\s*\/\/ (.*)$/gm;

/**
 * "It is no number" in place of "it is not a number", also with a line break in between; "there is
 * no number" is another statement.
 */
const IS_NO =
  /(?<!\b[tT]here[\s*/]+)\b(?:is|are)[\s*/]+no[\s*/]+(?:whole |complete |valid )?(?:number|text|list|object|folder|file|name|date|digest|URL|UUID|address|edge|terminal|archive|JSON|request|handshake)s?\b/g;

/** "A date that is none", which leaves the noun out, and "from which on" for "after which". */
const IS_NONE =
  /\b(?:that|it|which)[\s*/]+(?:is|are)[\s*/]+none\b|%\w"? is none\b|\bfrom[\s*/]+which[\s*/]+on\b/g;

/** A function whose docstring begins with a question word: it names no action and no thing. */
const QUESTION_FIRST =
  /^ *\/\*\*(?: |\n *\* )(?:Whether|How|When|Where|Why)\b(?:(?!\*\/)[\s\S])*\*\/\n *(?:export )?(?:async )?function \w+/gm;

/** An exported function whose docstring, in one line or more, begins with a tag. */
const TAG_FIRST =
  /^ *\/\*\*(?: |\n *\* )@(?:(?!\*\/)[\s\S])*\*\/\n *export (?:async )?function \w+/gm;

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

test.each([
  ["'the value is no whole number'", 1],
  ['// Edges that are no JSON.', 1],
  ['/**\n * @throws Error if it is no\n * folder\n */', 1],
  ['There is no file of that name, and there are no folders.', 0],
  ['/**\n * Returns undefined if there\n * is no file.\n */', 0],
  ['That is no reason to ask.', 0],
])('%j has %i such sentences', (text, count) => {
  expect(text.match(IS_NO) ?? []).toHaveLength(count);
});

test.each([
  ["['a date that is none', 'x']", 1],
  ['/** Reads a document. @throws Error if it is\n * none */', 1],
  ['Time from which on nothing is tried.', 1],
  ['Undefined if there is none. Which of them is none of the three?', 0],
])('%j has %i such phrases', (text, count) => {
  expect(text.match(IS_NONE) ?? []).toHaveLength(count);
});

/** Lists the files of the repository that match, without this one. */
function filesLike(...patterns: string[]): string[] {
  return execFileSync('git', ['ls-files', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !file.startsWith('scripts/prose.test'));
}

test.each([
  ['no sentence says that something is no number, file or list', IS_NO],
  ['no sentence says that something is none, or "from which on"', IS_NONE],
])('%s', (_, pattern) => {
  const found = filesLike(...SOURCES, ...DOCUMENTS).flatMap((file) =>
    (readFileSync(`${ROOT}/${file}`, 'utf8').match(pattern) ?? []).map(
      (text) => `${file}: ${text}`,
    ),
  );
  expect(found).toEqual([]);
});

test.each([
  ['/** @throws Error always */\nexport function fail(): never {', 1],
  ['/**\n * @param a number\n * @returns it\n */\nexport async function same(a) {', 1],
  ['/** Fails. @throws Error always */\nexport function fail(): never {', 0],
  ['/** @throws Error always */\nfunction fail(): never {', 0],
])('%j has %i docstrings that begin with a tag', (text, count) => {
  expect(text.match(TAG_FIRST) ?? []).toHaveLength(count);
});

test.each([
  ['/** Whether it fails. */\nfunction fails(): boolean {', 1],
  ['/**\n * How long it waits.\n *\n * @returns ms\n */\nexport async function wait() {', 1],
  ['/** Returns true if it fails. */\nexport function fails(): boolean {', 0],
  ['/** When it began. */\nlet began: number;\nfunction begin() {', 0],
])('%j has %i docstrings that begin with a question word', (text, count) => {
  expect(text.match(QUESTION_FIRST) ?? []).toHaveLength(count);
});

test('no docstring of a function begins with a question word', () => {
  const found = filesLike('*.ts', '*.tsx', '*.mjs', '*.js').flatMap((file) =>
    (readFileSync(`${ROOT}/${file}`, 'utf8').match(QUESTION_FIRST) ?? []).map(
      (text) => `${file}: ${text.split(' ').at(-1)}`,
    ),
  );
  expect(found).toEqual([]);
});

test('every docstring of an exported function says first what the function does', () => {
  // In JavaScript the tags are the types.
  const found = filesLike('*.ts', '*.tsx', '*.mjs').flatMap((file) =>
    (readFileSync(`${ROOT}/${file}`, 'utf8').match(TAG_FIRST) ?? []).map(
      (text) => `${file}: ${text.split(' ').at(-1)}`,
    ),
  );
  expect(found).toEqual([]);
});

test('every comment names its subject', () => {
  const files = filesLike(...SOURCES);
  const riddles = files.flatMap((file) =>
    riddlesIn(readFileSync(`${ROOT}/${file}`, 'utf8')).map((opening) => `${file}: ${opening}`),
  );
  expect(riddles).toEqual([]);
  expect(files.length).toBeGreaterThan(1000);
});
