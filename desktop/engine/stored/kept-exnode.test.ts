import { expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { KeptExnode } from './kept-exnode.ts';

const exnode: Exnode = {
  ...{ name: '', size: 0, root: '', extents: [] },
  blocks: { algorithm: 'sha256', pieceBytes: 1, hexes: [] },
};
const add = (letter: string) => (one: Exnode) => ({ ...one, name: one.name + letter });

test('a change is durable when it resolves, and those that come during a write share the next one', async () => {
  const written: string[] = [];
  const ends: (() => void)[] = [];
  const kept = new KeptExnode(
    exnode,
    ({ name }) =>
      new Promise((resolve) => {
        ends.push(() => {
          written.push(name);
          resolve();
        });
      }),
  );
  const durable: string[] = [];
  const change = (letter: string) => kept.change(add(letter)).then(() => durable.push(letter));
  const first = change('a');
  while (ends.length < 1) await null;
  const others = [change('b'), change('c')];
  expect([written, durable]).toEqual([[], []]);
  ends[0]?.();
  await first;
  expect([written, durable]).toEqual([['a'], ['a']]);
  while (ends.length < 2) await null;
  ends[1]?.();
  await Promise.all(others);
  expect([written, durable]).toEqual([
    ['a', 'abc'],
    ['a', 'b', 'c'],
  ]);
});

test('a write that fails is told to those that wait for it, and the next one includes the change', async () => {
  const written: string[] = [];
  let fails = true;
  const kept = new KeptExnode(exnode, async ({ name }) => {
    if (fails) throw new MillraceError('disk-full');
    written.push(name);
  });
  await expect(kept.change(add('a'))).rejects.toMatchObject({ code: 'disk-full' });
  fails = false;
  await kept.change(add('b'));
  expect([written, kept.exnode.name]).toEqual([['ab'], 'ab']);
});
