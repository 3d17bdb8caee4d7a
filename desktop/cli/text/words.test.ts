import { expect, test } from '@jest/globals';
import { UsageError } from './option-values.ts';
import { splitWords } from './words.ts';

test.each([
  ['mpv', ['mpv']],
  ['  vlc   --fullscreen ', ['vlc', '--fullscreen']],
  ['"/opt/My Player/play" --title=\'a "b" c\'', ['/opt/My Player/play', '--title=a "b" c']],
  ["x ''", ['x', '']],
  ['$HOME; rm', ['$HOME;', 'rm']],
])('%j is split into %j', (text, words) => {
  expect(splitWords(text)).toEqual(words);
});

test.each(['', '  ', 'mpv "x', "mpv 'x"])('%j is not a command', (text) => {
  expect(() => splitWords(text)).toThrow(UsageError);
});
