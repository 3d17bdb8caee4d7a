import { expect, test } from '@jest/globals';
import { typedAs } from './typed-as.ts';

test('a clone has hints that can be typed there', () => {
  expect(typedAs('See "millrace list", or: millrace url ab URL', 'npm run millrace --')).toBe(
    'See "npm run millrace -- list", or: npm run millrace -- url ab URL',
  );
});

test('an installed program has its own name in hints', () => {
  expect(typedAs('See "millrace list".', undefined)).toBe('See "millrace list".');
});

test('the name of the project is left alone', () => {
  expect(typedAs('Millrace is fast. /millrace is a folder.', 'x')).toBe(
    'Millrace is fast. /millrace is a folder.',
  );
});
