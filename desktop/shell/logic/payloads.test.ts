import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PARSERS, SHELL_CALLS } from './payloads.ts';

test('takes what the page sends', () => {
  expect(PARSERS.openFile('0123456789abcdef')).toBe('0123456789abcdef');
  expect(PARSERS.chooseFolder(undefined)).toBeUndefined();
  expect(PARSERS.chooseFolder('/home/me')).toBe('/home/me');
  expect(PARSERS.setPreferences({ notifications: false })).toEqual({ notifications: false });
});

test.each<[keyof typeof PARSERS, unknown]>([
  ['openFile', '/etc/passwd'],
  ['openFile', '0123456789ABCDEF'],
  ['showInFolder', { toString: () => '0123456789abcdef' }],
  ['chooseFolder', 'x'.repeat(5000)],
  ['chooseFolder', null],
  ['copyText', 5],
  ['setPreferences', { shell: true }],
  ['getPreferences', {}],
  ['listen', 'all'],
])('%s refuses what it does not take', (call, payload) => {
  expect(() => PARSERS[call](payload)).toThrow(TypeError);
});

test('whatever comes, it is parsed or refused', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SHELL_CALLS), fc.anything(), (call, payload) => {
      try {
        PARSERS[call](payload);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
      }
    }),
  );
});
