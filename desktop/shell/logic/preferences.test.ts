import { expect, test } from '@jest/globals';
import { PREFERENCE_NAMES } from '@millrace/shared/bridge/page/shell-api';
import fc from 'fast-check';
import { boundsOnScreen, DEFAULT_PREFERENCES, readChanges, readRemembered } from './preferences.ts';

test('clipboard watch and start at login are off by default', () => {
  expect(readRemembered('').preferences).toMatchObject({
    watchClipboard: false,
    startAtLogin: false,
    stayInTray: true,
    notifications: true,
  });
});

test('kept data are read back; damaged members count as absent', () => {
  const kept = {
    preferences: { ...DEFAULT_PREFERENCES, watchClipboard: true },
    toldOfTray: true,
    bounds: { x: -10, y: 20, width: 900, height: 600 },
    miniBounds: { x: 900, y: 40, width: 320, height: 180 },
    daemonPid: 42,
    remote: 'https://nas.example',
  };
  expect(readRemembered(JSON.stringify(kept))).toEqual(kept);
  const damaged = {
    preferences: { watchClipboard: 'yes', stayInTray: false, other: true },
    toldOfTray: 1,
    bounds: { x: 0, y: 0, width: 5, height: 5 },
    miniBounds: [1],
    daemonPid: -1,
    remote: 'http://nas.example',
  };
  expect(readRemembered(JSON.stringify(damaged))).toEqual({
    preferences: { ...DEFAULT_PREFERENCES, stayInTray: false },
    toldOfTray: false,
    bounds: undefined,
    miniBounds: undefined,
    daemonPid: undefined,
    remote: undefined,
  });
});

test('any text and any value is accepted without an error', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), fc.anything(), (text, value) => {
      expect(Object.keys(readRemembered(text).preferences)).toHaveLength(PREFERENCE_NAMES.length);
      readChanges(value);
    }),
  );
});

test('changes may have known preferences only', () => {
  expect(readChanges({ watchClipboard: true })).toEqual({ watchClipboard: true });
  expect(readChanges({})).toEqual({});
  for (const wrong of [null, [true], 'x', { watchClipboard: 1 }, { other: true }]) {
    expect(readChanges(wrong)).toBeUndefined();
  }
});

test('a window keeps its place where a screen still shows it', () => {
  const screen = { x: 0, y: 0, width: 1920, height: 1080 };
  const bounds = { x: 100, y: 100, width: 900, height: 600 };
  expect(boundsOnScreen(bounds, [screen])).toBe(bounds);
  expect(boundsOnScreen({ ...bounds, x: 2500 }, [screen])).toBeUndefined();
  expect(boundsOnScreen({ ...bounds, y: -300 }, [screen])).toBeUndefined();
  expect(boundsOnScreen(bounds, [])).toBeUndefined();
});
