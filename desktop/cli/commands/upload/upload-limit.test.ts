import { expect, test } from '@jest/globals';
import { limitOf } from './upload-limit.ts';

test('a limit that depots would take for a stalled upload is refused, and says how much is needed', () => {
  expect(limitOf(undefined, 6)).toBeUndefined();
  expect(() => limitOf(32 * 1024, 6)).toThrow(/192 KiB\/s for 6 depots/);
  expect(() => limitOf(31 * 1024, 1)).toThrow(/32 KiB\/s for a depot/);
  expect(limitOf(192 * 1024, 6)).toBeDefined();
});
