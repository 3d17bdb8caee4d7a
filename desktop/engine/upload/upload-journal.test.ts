import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { UploadJournal } from './upload-journal.ts';

test('an upload that ends takes away what a killed process left of its record', async () => {
  const state = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  try {
    const journal = new UploadJournal(state, '/files/big.iso', 'https://depot.example');
    await (await journal.lock())();
    const file = { bytes: 7, mtimeMs: 1 };
    const allocated = { read: 'r', write: 'w', manage: 'm', expires: '2026-12-01T00:00:00Z' };
    await journal.write(file, allocated);
    const [record] = await readdir(join(state, 'uploads'));
    await writeFile(join(state, 'uploads', `${record}.new`), '{"format":1,"pa');
    expect(await journal.read(file)).toEqual({ allocated, isSame: true });
    await journal.remove();
    expect(await readdir(join(state, 'uploads'))).toEqual([]);
  } finally {
    await rm(state, { recursive: true });
  }
});
