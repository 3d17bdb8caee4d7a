import { expect, test } from '@jest/globals';
import { readRemote } from './remote-option.ts';

const NAS = 'https://nas.example';

test.each([
  [['--remote', NAS, 'list'], ['list']],
  [
    ['list', `--remote=${NAS}/`, 'active'],
    ['list', 'active'],
  ],
  [['list', '--remote', 'NAS.example'], ['list']],
  [
    ['add', 'x', '--remote', NAS, '--', '--remote'],
    ['add', 'x', '--', '--remote'],
  ],
])('%j uses another machine', (given, words) => {
  expect(readRemote(given, undefined)).toEqual({ words, remote: NAS });
});

test('the variable counts where another machine can be used, and the option before it', () => {
  expect(readRemote(['list'], NAS).remote).toBe(NAS);
  expect(readRemote(['get', 'x'], NAS).remote).toBeUndefined();
  expect(readRemote(['list', '--remote', 'other.example'], NAS).remote).toBe(
    'https://other.example',
  );
  expect(readRemote(['list'], undefined).remote).toBeUndefined();
});

test.each([
  [['get', 'x', '--remote', NAS], /works on this machine only/],
  [['daemon', 'stop', '--remote', NAS], /works on this machine only/],
  [['devices', '--remote', NAS], /works on this machine only/],
  [['list', '--remote', 'http://nas.example'], /is an address/],
  [['list', '--remote', 'https://a:b@nas.example'], /is an address/],
  [['list', '--remote', `${NAS}/x`], /is an address/],
  [['list', '--remote'], /is an address/],
])('%j is refused', (given, words) => {
  expect(() => readRemote(given, undefined)).toThrow(words);
});
