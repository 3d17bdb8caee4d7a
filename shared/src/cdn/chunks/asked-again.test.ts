import { describe, expect, test } from '@jest/globals';
import { AskedAgain } from './asked-again.ts';

describe('AskedAgain', () => {
  test('tells names that were asked for before from new ones', () => {
    const asked = new AskedAgain();
    const names = Array.from({ length: 100 }, (_, i) => `https://example.com/${i} 0-524287`);
    expect(names.filter((name) => asked.isAgain(name))).toEqual([]);
    expect(names.filter((name) => !asked.isAgain(name))).toEqual([]);
  });

  test('forgets names when many others are asked for', () => {
    const asked = new AskedAgain(64);
    expect(asked.isAgain('a')).toBe(false);
    for (let i = 0; i < 10_000; i++) asked.isAgain(`other ${i}`);
    expect(asked.isAgain('a')).toBe(false);
  });

  test('never takes a new name for an old one among many', () => {
    const asked = new AskedAgain(256);
    const again = Array.from({ length: 50_000 }, (_, i) => asked.isAgain(`name ${i}`));
    expect(again.filter(Boolean)).toEqual([]);
  });
});
