import { expect, test } from '@jest/globals';
import { MillraceError } from '../../base/errors.ts';
import { failedPull, MAX_PULL_MESSAGE_CHARS, pullAfterRestart, pullView } from './pull-record.ts';

const RUNNING = { startedAt: 0 };

test('a pull that a restart finds under way was interrupted; an older failure stays', () => {
  const left = pullAfterRestart(RUNNING, 1000);
  expect(pullView(left)).toEqual({
    ...{ state: 'failed', code: 'interrupted', time: '1970-01-01T00:00:01.000Z' },
    message: 'Interrupted: the edge has restarted',
  });
  expect(pullAfterRestart(left, 2000)).toBe(left);
  expect(pullView(RUNNING)).toEqual({ state: 'running', time: '1970-01-01T00:00:00.000Z' });
});

test('a failure shows no link, nothing of the edge’s inside, and no long text', () => {
  const link = `https://d.test/-/d/${'A'.repeat(16)}/${'b'.repeat(32)}/plan.pdf`;
  const message = (error: MillraceError) => failedPull(RUNNING, error, 0).failure?.message ?? '';
  const shown = message(new MillraceError('bad-redirect', link));
  expect(shown).toContain('A'.repeat(16));
  expect(shown).not.toMatch(/bbb|plan/);
  expect(message(new MillraceError('internal', '/var/lib/depot'))).not.toContain('/var');
  const long = message(new MillraceError('bad-redirect', 'x'.repeat(10_000)));
  expect(long).toHaveLength(MAX_PULL_MESSAGE_CHARS);
});
