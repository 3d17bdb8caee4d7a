/** A database in a folder of its own for each test; for Jest only. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach } from '@jest/globals';
import { openDatabase } from '../engine/store/database.ts';
import { NOW } from './numbered-records.ts';

export interface OpenedDatabase {
  readonly folder: string;
  readonly path: string;
  readonly db: DatabaseSync;
}

/**
 * Opens a database before each test, and removes it afterwards.
 *
 * @param use called with it
 */
export function withDatabase(use: (opened: OpenedDatabase) => void): void {
  let folder: string;
  let db: DatabaseSync;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
    const path = join(folder, 'downloads.db');
    db = openDatabase(path, NOW).db;
    use({ folder, path, db });
  });
  afterEach(() => {
    if (db.isOpen) db.close();
    rmSync(folder, { recursive: true, force: true });
  });
}
