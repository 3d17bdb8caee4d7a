import { expect, test } from '@jest/globals';
import { SolvedColumns } from './solved-columns.ts';

const { signal } = new AbortController();
const all = { isUseless: () => false, onFree: () => {} };

test('columns are solved while there is room, and the others wait for them', async () => {
  const columns = new SolvedColumns<string>({ mostAtOnce: 10, mostKept: 100, ...all });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const solve = (name: string, bytes: number, by = signal) =>
    columns.solve(name, bytes, by, () => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<string>();
      ends.set(name, () => resolve(name));
      return promise;
    });
  const large = solve('larger than all room', 50);
  const abort = new AbortController();
  const left = solve('left', 5, abort.signal);
  const [a, b, c] = [solve('a', 5), solve('b', 5), solve('c', 5)];
  expect(begun).toEqual(['larger than all room']);
  abort.abort(new Error('not needed any more'));
  await expect(left).rejects.toThrow('not needed any more');
  expect(await columns.get('left', signal)).toBeUndefined();
  ends.get('larger than all room')?.();
  await large;
  await Promise.resolve();
  expect(begun.slice(1)).toEqual(['a', 'b']);
  ends.get('a')?.();
  expect((await a).value).toBe('a');
  ends.get('b')?.();
  await b;
  ends.get('c')?.();
  expect([(await c).value, (await columns.get('a', signal))?.value]).toEqual(['c', 'a']);
});

test('a column that cannot be solved is forgotten, and the oldest are beyond what is kept', async () => {
  const columns = new SolvedColumns<string>({ mostAtOnce: 10, mostKept: 10, ...all });
  const solve = (name: string, bytes = 5) =>
    columns.solve(name, bytes, signal, () => Promise.resolve(name));
  const failing = columns.solve('bad', 5, signal, () => Promise.reject(new Error('too few')));
  await expect(failing).rejects.toThrow('too few');
  for (const name of ['a', 'b', 'c']) await solve(name);
  const kept = async () =>
    (await Promise.all(['bad', 'a', 'b', 'c', 'd'].map((n) => columns.get(n, signal))))
      .map((one) => one?.value)
      .join();
  expect(await kept()).toBe(',,b,c,');
  await solve('d', 50);
  expect(await kept()).toBe(',,,,d');
});

test('a column is solved as long as anybody waits for it', async () => {
  const columns = new SolvedColumns<string>({ mostAtOnce: 10, mostKept: 10, ...all });
  const { promise, resolve } = Promise.withResolvers<string>();
  const [first, second] = [new AbortController(), new AbortController()];
  let inner: AbortSignal | undefined;
  const begun = columns.solve('a', 5, first.signal, (working) => {
    inner = working;
    return promise;
  });
  const joined = columns.get('a', second.signal);
  first.abort(new Error('enough'));
  await expect(begun).rejects.toThrow('enough');
  expect(inner?.aborted).toBe(false);
  resolve('solved');
  expect((await joined)?.value).toBe('solved');

  const alone = columns.solve('b', 5, second.signal, (working) => {
    inner = working;
    return new Promise((_, reject) => {
      working.addEventListener('abort', () => reject(working.reason));
    });
  });
  second.abort(new Error('enough too'));
  await expect(alone).rejects.toThrow('enough too');
  expect([inner?.aborted, await columns.get('b', signal)]).toEqual([true, undefined]);
});

test('a column is freed once it is forgotten and its last user has ended, and only once', async () => {
  const useless = new Set<string>();
  const freed: string[] = [];
  const columns = new SolvedColumns<string>({
    ...{ mostAtOnce: 10, mostKept: 10 },
    isUseless: (value) => useless.has(value),
    onFree: (value) => freed.push(value),
  });
  const solve = (name: string, by = signal) =>
    columns.solve(name, 5, by, () => Promise.resolve(name));
  // Beyond what is kept, but still read.
  const a = await solve('a');
  const again = await columns.get('a', signal);
  for (const name of ['b', 'c']) (await solve(name)).release();
  expect(columns.get('a', signal)).toBeUndefined();
  a.release();
  a.release();
  expect(freed).toEqual([]);
  again?.release();
  expect(freed).toEqual(['a']);
  // Kept, and not needed any more.
  useless.add('b');
  columns.forgetUseless();
  columns.forgetUseless();
  expect(freed).toEqual(['a', 'b']);
  // Solved when its only user had just left.
  const abort = new AbortController();
  const { promise, resolve } = Promise.withResolvers<string>();
  const left = columns.solve('d', 5, abort.signal, () => promise);
  resolve('d');
  abort.abort(new Error('not needed any more'));
  await expect(left).rejects.toThrow('not needed any more');
  expect([columns.get('d', signal), freed]).toEqual([undefined, ['a', 'b', 'd']]);
});
