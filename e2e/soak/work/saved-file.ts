/** Judges files that a download has saved. */

import { readFile } from 'node:fs/promises';
import { sha256 } from '../../fixtures/origins/content.ts';
import { judgeFile, type Strike, type Work } from '../account/causes.ts';
import type { World } from './world.ts';

/** A download that counts as complete. */
interface Saved {
  readonly work: Work;
  /** Number of the file at the origin. */
  readonly file: number;
  readonly path: string;
  /** Beginning of the download. */
  readonly from: number;
  readonly strikes: readonly Strike[];
  readonly what: string;
}

/** Compares a saved file with the versions that the origin had, and counts it. */
export async function judgeSaved({ files, ledger }: World, saved: Saved): Promise<void> {
  const { work, file, path, from, strikes, what } = saved;
  const bytes = await readFile(path);
  const verdict = judgeFile(sha256(bytes), files.versions(file), from);
  if (verdict === 'right') return ledger.complete(work, bytes.length);
  if (verdict === 'stale') return ledger.fail(work, 'stale', from, strikes, what);
  ledger.wrongBytes(`${work}: ${what}: ${files.describe(file, bytes)}`);
}
