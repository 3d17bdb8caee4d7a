import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from '@jest/globals';
import { fileWords } from './file-words.ts';

function failure(path: string): unknown {
  try {
    readFileSync(path);
  } catch (error) {
    return error;
  }
  throw new Error('it can be read');
}

test('Node’s "no such file or directory, open" is not shown', () => {
  const path = `${tmpdir()}/millrace-none/secret`;
  expect(fileWords(failure(path))).toBe(`there is no file ${path} (ENOENT)`);
  expect(fileWords(failure(tmpdir()))).toBe('it is a folder (EISDIR)');
});

test('a parser’s message is kept, and an unknown fault is named by its code', () => {
  expect(fileWords(new Error('line 3: a colon is missing'))).toBe('line 3: a colon is missing');
  expect(fileWords({ code: 'EIO', path: '/a' })).toBe('the system cannot read /a (EIO)');
  expect(fileWords('odd')).toBe('odd');
});
