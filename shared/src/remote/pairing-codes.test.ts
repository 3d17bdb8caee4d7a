import { expect, test } from '@jest/globals';
import { CODE_GOOD_FOR_MS, codeFrom, codeText, PairingCodes, readCode } from './pairing-codes.ts';

const code = codeFrom(Uint8Array.from([0, 1, 9, 10, 31, 32, 255, 200]));

test('a code is read as it is shown, and as people type it', () => {
  expect(codeText(code)).toBe('019A-Z0Z8');
  for (const text of ['019A-Z0Z8', '019az0z8', ' o1 9a - zoz8 ', 'OI9A-ZOZ8', 'ol9azoz8']) {
    expect(readCode(text)).toBe(code);
  }
  for (const text of ['', '019A', '019AZ0Z88', '019AZ0ZU', '019AZ0Z!']) {
    expect(readCode(text)).toBeUndefined();
  }
});

test('a code is valid once, for some minutes, for whoever asked for it', () => {
  const codes = new PairingCodes<string>();
  expect(codes.add(code, 'ann', 1000)).toBe(1000 + CODE_GOOD_FOR_MS);
  expect(codes.take(codeText(code), 1000)?.owner).toBe('ann');
  expect(codes.take(codeText(code), 1000)).toBeUndefined();
  codes.add(code, 'ann', 1000);
  expect(codes.take(code, 1000 + CODE_GOOD_FOR_MS)).toBeUndefined();
});

test('guesses, from however many addresses, end all codes', () => {
  const codes = new PairingCodes<string>();
  codes.add(code, 'ann', 0);
  for (let i = 0; i < 199; i++) codes.take('AAAA-AAAA', 0);
  expect(codes.take(code, 0)?.owner).toBe('ann');
  codes.add(code, 'ann', 0);
  for (let i = 0; i < 200; i++) codes.take('AAAA-AAAA', 0);
  expect(codes.take(code, 0)).toBeUndefined();
});

test('only the newest codes stay valid, and those whose owner stays', () => {
  const codes = new PairingCodes<number>();
  const made = Array.from({ length: 10 }, (_, i) => codeFrom(new Uint8Array(8).fill(i)));
  for (const [i, one] of made.entries()) codes.add(one, i, 0);
  codes.forget((owner) => owner === 9);
  expect(made.flatMap((one) => codes.take(one, 0)?.owner ?? [])).toEqual([2, 3, 4, 5, 6, 7, 8]);
});
