import { expect, test } from '@jest/globals';
import { treeKill } from './programs.ts';

test('on Windows, a program is ended with what it has started, by the command of the system', () => {
  const words = ['/PID', '4711', '/T', '/F'];
  expect(treeKill(4711, { SystemRoot: 'D:\\Windows' })).toEqual([
    'D:\\Windows\\System32\\taskkill.exe',
    ...words,
  ]);
  expect(treeKill(4711, {})).toEqual(['C:\\Windows\\System32\\taskkill.exe', ...words]);
});
