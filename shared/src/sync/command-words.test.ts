import { expect, test } from '@jest/globals';
import { commandWords } from './command-words.ts';

test.each([
  ['ssh', ['ssh']],
  ['  ssh -p 2222\t-i key ', ['ssh', '-p', '2222', '-i', 'key']],
  [`ssh -i '/my keys/a' -o "User=x y"`, ['ssh', '-i', '/my keys/a', '-o', 'User=x y']],
  [`a'b c'"d e"f ''`, ['a' + 'b c' + 'd e' + 'f', '']],
  ['ssh $HOME `x` ; y\\', ['ssh', '$HOME', '`x`', ';', 'y\\']],
])('the command %j has its words', (text, words) => {
  expect(commandWords(text)).toEqual(words);
});

test.each(['', ' ', "ssh 'x", 'ssh "', "''"])('the command %j is refused', (text) => {
  expect(() => commandWords(text)).toThrow(/quote|missing/);
});
