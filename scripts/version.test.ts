import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { VERSION } from '../shared/src/base/version.ts';

test.each(['', 'shared/', 'edge/', 'desktop/', 'extension/', 'e2e/'])(
  'the package in %p has the version that the programs report',
  (folder) => {
    const url = new URL(`../${folder}package.json`, import.meta.url);
    expect(JSON.parse(readFileSync(url, 'utf8')).version).toBe(VERSION);
  },
);
