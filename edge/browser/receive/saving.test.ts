import { expect, test } from '@jest/globals';
import { findWay, MAX_MEMORY_BYTES } from './saving.js';

const GIB = 1024 ** 3;

/** Makes the global object of a browser with a folder for pages. */
function withFolder(quota: number, left: string[], held: readonly string[] = []) {
  const folder = {
    async *keys() {
      yield* [...left];
    },
    async removeEntry(name: string) {
      left.splice(left.indexOf(name), 1);
    },
  };
  return {
    FileSystemFileHandle: class {
      createWritable() {}
    },
    navigator: {
      storage: {
        getDirectory: async () => ({ getDirectoryHandle: async () => folder }),
        estimate: async () => ({ quota, usage: 0 }),
      },
      locks: {
        request: async (name: string, _options: object, then: (lock: object | null) => unknown) =>
          then(held.some((one) => name.endsWith(one)) ? null : {}),
      },
    },
  };
}

test('a browser that asks for a place writes there, whatever the size', async () => {
  const way = await findWay({ showSaveFilePicker() {} });
  expect(way).toEqual({ kind: 'picker', most: Number.POSITIVE_INFINITY });
});

test('a browser with a folder for pages uses it as far as it has room', async () => {
  expect(await findWay(withFolder(10 * GIB, []))).toEqual({ kind: 'folder', most: 10 * GIB });
  expect(await findWay(withFolder(GIB / 4, []))).toEqual({
    kind: 'memory',
    most: MAX_MEMORY_BYTES,
  });
});

test('what closed pages have left is removed, and what open ones use is not', async () => {
  const left = ['1', '2', '3'];
  await findWay(withFolder(10 * GIB, left, ['2']));
  expect(left).toEqual(['2']);
});

test('other browsers keep a bounded file in memory', async () => {
  const none = {
    navigator: { storage: { getDirectory: () => Promise.reject(new Error('private')) } },
  };
  expect(await findWay(none)).toEqual({ kind: 'memory', most: MAX_MEMORY_BYTES });
});
