import { expect, test } from '@jest/globals';
import { ERRORS, type ErrorCode, type ErrorRow } from '../base/errors.ts';
import { ERROR_WORDS } from './error-words.ts';
import ownEnglish from './errors-en.json' with { type: 'json' };

test('the title of an error is written once: in the table, or where an interface differs from it', () => {
  const twice = Object.entries<{ title?: string; help: string }>(ownEnglish).filter(
    ([code, { title }]) => title === ERRORS[code as ErrorCode].title,
  );
  expect(twice.map(([code]) => code)).toEqual([]);
  const of = (code: ErrorCode) => [ERROR_WORDS.en[code].title, (ERRORS[code] as ErrorRow).title];
  expect(new Set(of('file-exists')).size).toBe(1);
  expect(of('draining')).toEqual(['The edge is shutting down', 'This edge is shutting down']);
});
