import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parseJournal } from '@millrace/shared/download/journal/journal';
import { JournalEntries } from '@millrace/shared/download/journal/journal-entries';
import { JournalFile } from './journal-file.ts';

const HEADER = { url: 'http://a.example/x.bin', length: 1000, validators: { etag: '"1"' } };
const DIGEST = '0123456789abcdef';
let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  path = join(folder, 'journal');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a mark counts lines that are being written', async () => {
  const entries = new JournalEntries(1000, 1000);
  const journal = new JournalFile(path, HEADER, entries);
  await journal.write();
  for (const start of [0, 100]) {
    const entry = { range: { start, end: start + 100 }, digest: DIGEST };
    entries.add(entry);
    journal.add(entry);
  }
  const { mark } = journal;
  const seen = new Set<number>();
  let done = false;
  const writing = journal.write().finally(() => {
    done = true;
  });
  while (!done) {
    seen.add(journal.mark.lines);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writing;
  expect([...seen]).toEqual([2]);
  await journal.writeFlushed(mark);
  await journal.close();
  expect(parseJournal(await readFile(path, 'utf8'))?.flushed).toBe(2);
});
