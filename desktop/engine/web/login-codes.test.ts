import { expect, test } from '@jest/globals';
import { LoginCodes } from './login-codes.ts';

test('a code is valid once, and for a minute', () => {
  let now = 0;
  const codes = new LoginCodes(() => now);
  const [first, second] = [codes.make(), codes.make()];
  expect(codes.take(first)).toBe(true);
  expect(codes.take(first)).toBe(false);
  expect(codes.take(`${second}x`)).toBe(false);
  now = 60_000;
  expect(codes.take(second)).toBe(false);
});

test('the page that has used a code may send it again, and nobody else may', () => {
  let now = 0;
  const codes = new LoginCodes(() => now);
  const [page, other] = ['page-page-page-page', 'other-other-other-other'];
  const code = codes.make();
  expect(codes.take(code, page)).toBe(true);
  expect(codes.take(code, page)).toBe(true);
  expect(codes.take(code, other)).toBe(false);
  expect(codes.take(code, page)).toBe(false);
  const [without, late] = [codes.make(), codes.make()];
  expect(codes.take(without, page)).toBe(true);
  expect(codes.take(without)).toBe(false);
  expect(codes.take(late, page)).toBe(true);
  now = 60_000;
  expect(codes.take(late, page)).toBe(false);
});

test('only the 32 newest codes stay valid', () => {
  const codes = new LoginCodes(() => 0);
  const made = Array.from({ length: 40 }, () => codes.make());
  expect(made.filter((code) => codes.take(code))).toEqual(made.slice(-32));
});
