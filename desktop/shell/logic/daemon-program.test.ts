import { expect, test } from '@jest/globals';
import { daemonProgram, type Surroundings } from './daemon-program.ts';

const here: Surroundings = {
  node: undefined,
  electron: '/opt/millrace/millrace',
  electronNode: '24.2.0',
  main: '/opt/millrace/main.mjs',
};

test('a Node that is named comes first', () => {
  expect(daemonProgram({ ...here, node: '/usr/bin/node' })).toEqual({
    command: '/usr/bin/node',
    args: [here.main],
    env: {},
  });
});

test('without one, Electron runs as Node where it is new enough', () => {
  expect(daemonProgram(here)).toEqual({
    command: here.electron,
    args: [here.main],
    env: { ELECTRON_RUN_AS_NODE: '1' },
  });
  expect(daemonProgram({ ...here, electronNode: '12.14.1' })).toBeUndefined();
});
