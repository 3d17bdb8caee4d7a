/** Files that the user has sent, in the database: what each is, and the exNode that manages it. */

import type { DatabaseSync } from 'node:sqlite';
import { tryRead } from '@millrace/shared/schema/read';
import type { Share } from '@millrace/shared/share/share-state';
import * as z from 'zod';
import { allRows, type TellDamage } from './damaged-rows.ts';
import { storageError } from './database.ts';
import { parseJson } from './kept-record.ts';

const trouble = z.object({ code: z.string(), detail: z.string() });

const SHARE = z.object({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  state: z.enum(['waiting', 'sending', 'paused', 'failed', 'shared', 'revoked']),
  /** The file, absolute. */
  path: z.string(),
  /** True: the daemon's own copy, which goes when the file is stored. */
  isCopy: z.boolean(),
  name: z.string(),
  bytes: z.number(),
  /** When the file was changed last, Unix milliseconds; undefined: the daemon's own copy. */
  mtimeMs: z.number().optional(),
  /** True: depots get its ciphertext. */
  encrypts: z.boolean().optional(),
  seconds: z.number(),
  /** Base URLs. */
  depots: z.array(z.string()),
  copies: z.number(),
  createdAt: z.number(),
  link: z.string().optional(),
  wholeFile: z.boolean(),
  expires: z.number().optional(),
  revokeAt: z.number().optional(),
  revokeTries: z.number().optional(),
  /** True: lost copies are being replaced, also after a restart. */
  repairs: z.boolean().optional(),
  /** Depots that have it. */
  places: z
    .array(z.object({ depot: z.string(), bytes: z.number(), expires: z.number().optional() }))
    .optional(),
  trouble: trouble.optional(),
  /** Of space that a guest may fill, and not a file: addresses that read it, and that manage it. */
  invitation: z.object({ file: z.string(), manage: z.string() }).optional(),
});

/** A file that was sent, as it is kept. */
export type KeptShare = Readonly<z.output<typeof SHARE>> & Share;

export class ShareStore {
  readonly #db: DatabaseSync;
  readonly #tell: TellDamage;

  /** @param tell called for each unreadable row */
  constructor(db: DatabaseSync, tell: TellDamage = () => {}) {
    this.#db = db;
    this.#tell = tell;
  }

  /** Returns all files, oldest first; unreadable ones stay in the table and are left out. */
  all(): KeptShare[] {
    const rows = allRows(this.#db.prepare('SELECT name, value FROM shares ORDER BY id'));
    return rows.flatMap((row) => {
      const read = parseJson(row.value);
      const result = 'value' in read ? tryRead(SHARE, read.value) : undefined;
      if (result?.success && result.data.id === row.name) return result.data;
      this.#tell('shares', String(row.name), 'is not a file that was sent');
      return [];
    });
  }

  /** @throws MillraceError `disk-full`, `state-unusable` */
  put(share: KeptShare): void {
    this.#run(
      'INSERT INTO shares (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      [share.id, JSON.stringify(share)],
    );
  }

  /** Keeps a file with its exNode; undefined: it has none any more. @throws as `put` */
  putExnode(share: KeptShare, exnode: string | undefined): void {
    this.#run(
      'INSERT INTO shares (name, value, exnode) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value, exnode = excluded.exnode',
      [share.id, JSON.stringify(share), exnode ?? null],
    );
  }

  /** Returns the text of a file's exNode. */
  exnode(id: string): string | undefined {
    const row = this.#db.prepare('SELECT exnode FROM shares WHERE name = ?').get(id);
    return typeof row?.exnode === 'string' ? row.exnode : undefined;
  }

  /** @throws as `put` */
  delete(id: string): void {
    this.#run('DELETE FROM shares WHERE name = ?', [id]);
  }

  #run(sql: string, values: readonly (string | null)[]): void {
    try {
      this.#db.prepare(sql).run(...values);
    } catch (error) {
      throw storageError(error);
    }
  }
}
