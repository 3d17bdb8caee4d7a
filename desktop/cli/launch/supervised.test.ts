import { type ChildProcess, spawn } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { Supervised } from './supervised.ts';

const run = (code: string): ChildProcess =>
  spawn(process.execPath, ['-e', code], { stdio: 'ignore' });
const FOREVER = 'setInterval(() => {}, 1000)';

function supervise(first: ChildProcess, again: (attempt: number) => ChildProcess | undefined) {
  const lines: string[] = [];
  const attempts: number[] = [];
  const supervised = new Supervised({
    name: 'It',
    first,
    again: async (attempt) => {
      attempts.push(attempt);
      return again(attempt);
    },
    back: 'It runs again.',
    say: (line) => lines.push(line),
  });
  return { supervised, lines, attempts };
}

describe('a supervised process', () => {
  test('that is killed is started again, and the user is told', async () => {
    const first = run(FOREVER);
    const { supervised, lines } = supervise(first, () => run('process.exit(0)'));
    first.kill('SIGKILL');
    expect(await supervised.ended).toBe(0);
    expect(lines).toEqual([
      'It has ended unexpectedly (SIGKILL). Starting it again ...',
      'It runs again.',
    ]);
  });

  test('that exits with 0 is left alone', async () => {
    const { supervised, lines } = supervise(run('process.exit(0)'), () => undefined);
    expect(await supervised.ended).toBe(0);
    expect(lines).toEqual([]);
  });

  test('that is stopped is not started again, even during a restart', async () => {
    const first = run(FOREVER);
    const { supervised, lines } = supervise(first, () => {
      supervised.stop();
      return run(FOREVER);
    });
    first.kill('SIGKILL');
    expect(await supervised.ended).toBe(1);
    expect(lines).toHaveLength(1);
  });

  test('that cannot be started is given up after a few attempts', async () => {
    const { supervised, lines, attempts } = supervise(run('process.exit(3)'), () => undefined);
    expect(await supervised.ended).toBe(1);
    expect(lines.at(-1)).toMatch(/not started again/);
    expect(attempts).toHaveLength(4);
  }, 30_000);
});
