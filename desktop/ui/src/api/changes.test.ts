import { setImmediate as soon } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Changes } from './changes.ts';

test('a change that is made before the one before it is answered begins with what that one left', async () => {
  const changes = new Changes();
  let kept: readonly string[] = [];
  const answers: (() => void)[] = [];
  const add = (name: string) =>
    changes.inTurn(async () => {
      const next = [...kept, name];
      await new Promise<void>((answered) => answers.push(answered));
      kept = next;
      return kept.length;
    });
  const lengths = [add('size'), add('speed')];
  await soon();
  expect(answers).toHaveLength(1);
  answers[0]?.();
  expect(await lengths[0]).toBe(1);
  await soon();
  answers[1]?.();
  expect(await lengths[1]).toBe(2);
  expect(kept).toEqual(['size', 'speed']);
});

test('a change that fails does not keep later ones from being made', async () => {
  const changes = new Changes();
  const failed = changes.inTurn(() => Promise.reject(new Error('the daemon said no')));
  const next = changes.inTurn(async () => 'stored');
  await expect(failed).rejects.toThrow('the daemon said no');
  expect(await next).toBe('stored');
});
