import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PARSERS, SHELL_CALLS } from './payloads.ts';

test('accepts the payloads that the page sends', () => {
  expect(PARSERS.openFile('0123456789abcdef')).toBe('0123456789abcdef');
  expect(PARSERS.chooseFolder(undefined)).toBeUndefined();
  expect(PARSERS.chooseFolder('/home/me')).toBe('/home/me');
  expect(PARSERS.offerFile('/home/me/talk.tar')).toBe('/home/me/talk.tar');
  expect(PARSERS.showRemote('nas.example')).toBe('nas.example');
  expect(PARSERS.setPreferences({ notifications: false })).toEqual({ notifications: false });
});

test.each<[keyof typeof PARSERS, unknown]>([
  ['openFile', '/etc/passwd'],
  ['openFile', '0123456789ABCDEF'],
  ['showInFolder', { toString: () => '0123456789abcdef' }],
  ['openPage', 'https://example.com/'],
  ['chooseFolder', 'x'.repeat(5000)],
  ['chooseFolder', null],
  ['offerFile', ['/etc/passwd']],
  ['copyText', 5],
  ['showRemote', 'x'.repeat(5000)],
  ['setPreferences', { shell: true }],
  ['getPreferences', {}],
  ['listen', 'all'],
])('%s refuses an invalid payload', (call, payload) => {
  expect(() => PARSERS[call](payload)).toThrow(TypeError);
});

test('any payload is either parsed or refused with a TypeError', () => {
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
