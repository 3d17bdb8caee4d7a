import { describe, expect, test } from '@jest/globals';
import { DEFAULT_SETTINGS, settingsSchema } from './settings.ts';

describe('settings', () => {
  test('take downloads from 16 MiB by default', () => {
    expect(DEFAULT_SETTINGS).toMatchObject({ on: true, minBytes: 16 * 1024 * 1024, taker: 'auto' });
  });

  test('keep chosen values, and add defaults for the rest', () => {
    expect(settingsSchema.parse({ minBytes: 1, offHosts: ['example.com'] })).toEqual({
      ...DEFAULT_SETTINGS,
      minBytes: 1,
      offHosts: ['example.com'],
    });
  });

  test.each([
    { minBytes: -1 },
    { minBytes: 1.5 },
    { edges: 'http://edge' },
    { theme: 'pink' },
    { offHosts: Array.from({ length: 1001 }, (_, i) => `${i}.example`) },
  ])('refuse %j', (given) => {
    expect(settingsSchema.safeParse(given).success).toBe(false);
  });
});
