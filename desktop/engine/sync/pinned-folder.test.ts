import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pinFolder } from './pinned-folder.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  for (const name of ['staging', 'outside']) mkdirSync(join(root, name));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const linux = process.platform === 'linux' ? test : test.skip;

linux('a staging folder that is swapped for a link stays the same folder', () => {
  const pinned = pinFolder(join(root, 'staging'));
  try {
    renameSync(join(root, 'staging'), join(root, 'moved'));
    symlinkSync(join(root, 'outside'), join(root, 'staging'));
    writeFileSync(join(pinned.path, 'x'), 'x');
    expect(readdirSync(join(root, 'outside'))).toEqual([]);
    expect(readdirSync(join(root, 'moved'))).toEqual(['x']);
  } finally {
    pinned.close();
  }
});

linux('a link is not a staging folder', () => {
  symlinkSync(join(root, 'outside'), join(root, 'link'));
  expect(() => pinFolder(join(root, 'link'))).toThrow();
});
