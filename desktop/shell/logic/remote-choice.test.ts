import { expect, test } from '@jest/globals';
import {
  folderOf,
  offerAddress,
  remoteChoice,
  restartArguments,
  withoutRemote,
} from './remote-choice.ts';

const ELSEWHERE = { kind: 'elsewhere', origin: 'https://nas.example', isSetting: false };

test.each([
  [[], undefined, { kind: 'here' }],
  [['https://example.com/file.iso'], '', { kind: 'here' }],
  [['--remote', 'https://nas.example'], undefined, ELSEWHERE],
  [['--hidden', '--remote=nas.example/'], undefined, ELSEWHERE],
  [[], 'nas.example', ELSEWHERE],
  [
    ['--remote', 'nas.example:8443'],
    'other.example',
    {
      kind: 'elsewhere',
      origin: 'https://nas.example:8443',
      isSetting: false,
    },
  ],
  [['--remote'], undefined, { kind: 'wrong', given: '' }],
  [['--remote', 'http://nas.example'], undefined, { kind: 'wrong', given: 'http://nas.example' }],
  [['--remote=nas.example/page'], undefined, { kind: 'wrong', given: 'nas.example/page' }],
  [['--remote=ann:pw@nas.example'], undefined, { kind: 'wrong', given: 'ann:pw@nas.example' }],
  [['--remote=file:///etc'], undefined, { kind: 'wrong', given: 'file:///etc' }],
])('the arguments %j with the variable %j choose %j', (args, variable, chosen) => {
  expect(remoteChoice(args, variable)).toEqual(chosen);
});

test('the setting of the app counts where a start names no daemon', () => {
  const setting = 'https://kept.example';
  const kept = { kind: 'elsewhere', origin: setting, isSetting: true };
  expect(remoteChoice(['--hidden'], '', setting)).toEqual(kept);
  expect(remoteChoice([], 'nas.example', setting)).toEqual(ELSEWHERE);
  expect(remoteChoice(['--remote', 'nas.example'], undefined, setting)).toEqual(ELSEWHERE);
});

test('the app starts again with its switches, and without links, daemons and `--hidden`', () => {
  const args = ['/app', '--no-sandbox', '--hidden', '--remote', 'nas.example', 'https://a.example'];
  expect(restartArguments(args, 1)).toEqual(['/app', '--no-sandbox']);
  const later = ['--no-sandbox', '/app', '--hidden', 'https://a.example'];
  expect(restartArguments(later, 1)).toEqual(['--no-sandbox', '/app']);
  expect(restartArguments(['--lang=de', 'talk.meta4'], 0)).toEqual(['--lang=de']);
});

test('each daemon has a folder of its own, whose name every file system takes', () => {
  const origins = ['https://nas.example', 'https://nas.example:8443', 'https://[2001:db8::1]'];
  const names = origins.map(folderOf);
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(name).toMatch(/^[a-z0-9._-]+$/);
});

test('links are offered by the page as those that a phone shares', () => {
  expect(offerAddress('https://nas.example', [])).toBe('https://nas.example/');
  const urls = ['https://a.test/x?y=1&z=2', 'https://b.test/'];
  const { searchParams } = new URL(offerAddress('https://nas.example', urls));
  expect(searchParams.get('text')?.split('\n')).toEqual(urls);
});

test('the address of the daemon is not taken for a link to download', () => {
  const link = 'https://example.com/a.iso';
  expect(withoutRemote(['--remote', 'https://nas.example', link])).toEqual([link]);
  expect(withoutRemote([link, '--remote=https://nas.example', '--remote'])).toEqual([link]);
});
