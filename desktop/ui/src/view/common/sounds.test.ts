import { describe, expect, test } from '@jest/globals';
import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import { hasSounds, soundOf, soundsChange } from './sounds.ts';

const totals = (byStatus: Partial<Totals['byStatus']>) => ({ byStatus }) as unknown as Totals;

describe('the sound', () => {
  test('of a finished download differs from that of a failed one', () => {
    const before = totals({ active: 2, complete: 5 });
    expect(soundOf(before, totals({ active: 1, complete: 6 }))).toBe('finished');
    expect(soundOf(before, totals({ active: 1, complete: 5, error: 1 }))).toBe('failed');
    expect(soundOf(before, totals({ complete: 6, error: 1 }))).toBe('failed');
  });

  test('is not heard for downloads that are added, paused, removed, imported or restored', () => {
    const before = totals({ active: 1, paused: 1, complete: 5 });
    expect(soundOf(undefined, before)).toBeUndefined();
    expect(soundOf(before, undefined)).toBeUndefined();
    expect(soundOf(before, before)).toBeUndefined();
    expect(soundOf(before, totals({ active: 2, paused: 1, complete: 5 }))).toBeUndefined();
    expect(soundOf(before, totals({ paused: 2, complete: 5 }))).toBeUndefined();
    expect(soundOf(before, totals({ paused: 1, complete: 5 }))).toBeUndefined();
    expect(soundOf(before, totals({ active: 1, paused: 1, complete: 2005 }))).toBeUndefined();
  });

  test('is off until the user switches it on', () => {
    const settings = (preferences: object) => ({ preferences }) as unknown as AppSettings;
    expect(hasSounds(undefined)).toBe(false);
    expect(hasSounds(settings({}))).toBe(false);
    expect(hasSounds(settings(soundsChange(true).preferences ?? {}))).toBe(true);
    expect(soundsChange(false)).toEqual({ preferences: { sounds: null } });
  });
});
