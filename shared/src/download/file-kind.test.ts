import { expect, test } from '@jest/globals';
import { isProgram } from './file-kind.ts';

test.each([
  ['setup.exe', true],
  ['Setup.EXE', true],
  ['film.mkv.exe. ', true],
  ['tool.AppImage', true],
  ['a.desktop', true],
  ['film.mkv', false],
  ['disk.iso', false],
  ['README', false],
  ['exe', false],
])('%s: %s', (name, program) => {
  expect(isProgram(name)).toBe(program);
});
