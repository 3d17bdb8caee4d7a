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

test('only the 32 newest codes stay valid', () => {
  const codes = new LoginCodes(() => 0);
  const made = Array.from({ length: 40 }, () => codes.make());
  expect(made.filter((code) => codes.take(code))).toEqual(made.slice(-32));
});
