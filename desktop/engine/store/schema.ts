/** The database's tables, and the upgrade of older databases. */

import type { DatabaseSync } from 'node:sqlite';
import { MillraceError } from '@millrace/shared/base/errors';

/** One step per version, in order. A released step never changes; new steps are only appended. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE downloads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    gid TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    request TEXT NOT NULL,
    options TEXT NOT NULL,
    priority INTEGER NOT NULL,
    rank REAL NOT NULL,
    category TEXT,
    host TEXT NOT NULL,
    name TEXT NOT NULL,
    path TEXT,
    length INTEGER,
    stored_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    attempts INTEGER NOT NULL,
    retry_at INTEGER,
    error TEXT,
    digest TEXT,
    text TEXT NOT NULL
  ) STRICT;
  -- finished_at is there exactly for those that are complete, failed or removed.
  CREATE INDEX finished ON downloads (finished_at, id) WHERE finished_at IS NOT NULL;
  CREATE INDEX unfinished ON downloads (id) WHERE finished_at IS NULL;

  -- Words of three characters and more anywhere in the text, in any script.
  CREATE VIRTUAL TABLE search USING fts5 (
    text, content = 'downloads', content_rowid = 'id', tokenize = 'trigram', detail = 'full'
  );
  CREATE TRIGGER search_insert AFTER INSERT ON downloads BEGIN
    INSERT INTO search (rowid, text) VALUES (new.id, new.text);
  END;
  CREATE TRIGGER search_delete AFTER DELETE ON downloads BEGIN
    INSERT INTO search (search, rowid, text) VALUES ('delete', old.id, old.text);
  END;
  CREATE TRIGGER search_update AFTER UPDATE OF text ON downloads WHEN old.text <> new.text BEGIN
    INSERT INTO search (search, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO search (rowid, text) VALUES (new.id, new.text);
  END;

  CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    "limit" INTEGER NOT NULL,
    refused_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    rests_until INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  `,
  `
  -- How a download went: sources, blocks, log.
  CREATE TABLE details (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    gid TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL
  ) STRICT;
  CREATE TRIGGER details_delete AFTER DELETE ON downloads BEGIN
    DELETE FROM details WHERE gid = old.gid;
  END;

  -- To find downloads of a URL again, whatever follows "?" in it: links that are signed differ there.
  CREATE TABLE urls (
    key TEXT NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (key, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX urls_of ON urls (id);
  INSERT OR IGNORE INTO urls
    SELECT substr(value, 1, instr(value || '?', '?') - 1), downloads.id
    FROM downloads, json_each(downloads.request, '$.urls') WHERE json_valid(downloads.request);
  CREATE TRIGGER urls_insert AFTER INSERT ON downloads WHEN json_valid(new.request) BEGIN
    INSERT OR IGNORE INTO urls SELECT substr(value, 1, instr(value || '?', '?') - 1), new.id
      FROM json_each(new.request, '$.urls');
  END;
  CREATE TRIGGER urls_update AFTER UPDATE OF request ON downloads
    WHEN old.request <> new.request AND json_valid(new.request) BEGIN
    DELETE FROM urls WHERE id = old.id;
    INSERT OR IGNORE INTO urls SELECT substr(value, 1, instr(value || '?', '?') - 1), new.id
      FROM json_each(new.request, '$.urls');
  END;
  CREATE TRIGGER urls_delete AFTER DELETE ON downloads BEGIN
    DELETE FROM urls WHERE id = old.id;
  END;

  -- How many there are of each kind.
  CREATE INDEX kinds ON downloads (state, category) WHERE finished_at IS NOT NULL;
  `,
  `
  -- Downloads that a browser has handed over, by the name of the hand-off.
  CREATE TABLE hand_offs (name TEXT PRIMARY KEY, gid TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX hand_offs_of ON hand_offs (gid);
  CREATE TRIGGER hand_offs_insert AFTER INSERT ON downloads
    WHEN json_valid(new.options) AND json_extract(new.options, '$.handOff') IS NOT NULL BEGIN
    INSERT OR IGNORE INTO hand_offs VALUES (json_extract(new.options, '$.handOff'), new.gid);
  END;
  CREATE TRIGGER hand_offs_delete AFTER DELETE ON downloads BEGIN
    DELETE FROM hand_offs WHERE gid = old.gid;
  END;
  `,
  `
  -- Downloads that were removed, as they were, until they are deleted for good.
  CREATE TABLE trash (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    gid TEXT NOT NULL UNIQUE,
    batch TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    record TEXT NOT NULL,
    leftover TEXT,
    moved INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX trash_batches ON trash (batch);
  `,
  `
  -- The folder of a download is not searched: it is the same for nearly all.
  UPDATE downloads SET text = replace(text, lower(path), name) WHERE path IS NOT NULL;
  -- Milliseconds in which it ran, without what it spent waiting; until now that was not counted.
  ALTER TABLE downloads ADD COLUMN active_ms INTEGER NOT NULL DEFAULT 0;
  UPDATE downloads SET active_ms = finished_at - started_at
    WHERE finished_at > started_at AND state = 'complete';
  `,
  `
  -- Files that the user has sent. An exNode gives all rights to what is stored.
  CREATE TABLE shares (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL,
    exnode TEXT
  ) STRICT;
  `,
  `
  -- A hand-over may also give a new link to a download that is there already.
  CREATE TRIGGER hand_offs_update AFTER UPDATE OF options ON downloads
    WHEN new.options IS NOT old.options AND json_valid(new.options)
      AND json_extract(new.options, '$.handOff') IS NOT NULL BEGIN
    -- The outer statement decides about conflicts, so REPLACE would do nothing here.
    DELETE FROM hand_offs WHERE name = json_extract(new.options, '$.handOff');
    INSERT INTO hand_offs VALUES (json_extract(new.options, '$.handOff'), new.gid);
  END;
  `,
  `
  -- The signer that vouches for the file.
  ALTER TABLE downloads ADD COLUMN vouch TEXT;
  `,
  `
  -- Actions after the download. after_open is 1 while one of them has not ended.
  ALTER TABLE downloads ADD COLUMN after TEXT;
  ALTER TABLE downloads ADD COLUMN after_open INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX after_open ON downloads (id) WHERE after_open = 1;
  `,
  `
  -- Failed downloads, then the others, each newest first.
  CREATE INDEX urgent ON downloads (
    CASE state WHEN 'error' THEN 2000000000000000 ELSE 3000000000000000 END - created_at, id
  ) WHERE finished_at IS NOT NULL;
  `,
  `
  -- The page that a resolver was asked about is a URL too, with its query: that tells pages apart.
  DROP TRIGGER urls_insert;
  DROP TRIGGER urls_update;
  INSERT OR IGNORE INTO urls SELECT json_extract(options, '$.resolved.url'), id FROM downloads
    WHERE json_valid(options) AND json_type(options, '$.resolved.url') = 'text';
  CREATE TRIGGER urls_insert AFTER INSERT ON downloads
    WHEN json_valid(new.request) AND json_valid(new.options) BEGIN
    INSERT OR IGNORE INTO urls SELECT substr(value, 1, instr(value || '?', '?') - 1), new.id
      FROM json_each(new.request, '$.urls');
    INSERT OR IGNORE INTO urls SELECT json_extract(new.options, '$.resolved.url'), new.id
      WHERE json_type(new.options, '$.resolved.url') = 'text';
  END;
  CREATE TRIGGER urls_update AFTER UPDATE OF request, options ON downloads
    WHEN (old.request <> new.request
        OR json_extract(CASE WHEN json_valid(old.options) THEN old.options END, '$.resolved.url')
          IS NOT json_extract(CASE WHEN json_valid(new.options) THEN new.options END, '$.resolved.url'))
      AND json_valid(new.request) AND json_valid(new.options) BEGIN
    DELETE FROM urls WHERE id = old.id;
    INSERT OR IGNORE INTO urls SELECT substr(value, 1, instr(value || '?', '?') - 1), new.id
      FROM json_each(new.request, '$.urls');
    INSERT OR IGNORE INTO urls SELECT json_extract(new.options, '$.resolved.url'), new.id
      WHERE json_type(new.options, '$.resolved.url') = 'text';
  END;
  `,
  `
  -- Files of torrents by the pieces that they have in common with others.
  CREATE TABLE shared_pieces (key TEXT NOT NULL, gid TEXT NOT NULL, PRIMARY KEY (key, gid)) STRICT, WITHOUT ROWID;
  CREATE INDEX shared_pieces_of ON shared_pieces (gid);
  CREATE TRIGGER shared_pieces_insert AFTER INSERT ON downloads
    WHEN json_valid(new.options) AND json_type(new.options, '$.shared') = 'array' BEGIN
    INSERT OR IGNORE INTO shared_pieces SELECT json_extract(value, '$.key'), new.gid
      FROM json_each(new.options, '$.shared') WHERE json_type(value, '$.key') = 'text';
  END;
  CREATE TRIGGER shared_pieces_delete AFTER DELETE ON downloads BEGIN
    DELETE FROM shared_pieces WHERE gid = old.gid;
  END;
  -- Complete files of which it has not been said yet whether such pieces are right.
  CREATE INDEX shared_open ON downloads (id)
    WHERE state = 'complete' AND json_valid(options)
      AND json_array_length(options, '$.shared') > coalesce(json_array_length(options, '$.sharedSaid'), 0);
  `,
  `
  -- Descriptions, such as torrents, that have not been followed to the end; files by their descriptions.
  CREATE INDEX following_open ON downloads (id)
    WHERE state = 'complete' AND json_valid(options) AND json_extract(options, '$.follows') <> 'done';
  CREATE INDEX followers ON downloads (json_extract(options, '$.following'))
    WHERE json_valid(options) AND json_extract(options, '$.following') IS NOT NULL;
  `,
];

/**
 * Upgrades a database to the current version.
 *
 * @throws MillraceError `state-unusable` if a newer version of Millrace wrote it
 */
export function migrate(db: DatabaseSync): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as {
    user_version: number;
  };
  if (version > MIGRATIONS.length) {
    throw new MillraceError('state-unusable', 'a newer version of Millrace has written it');
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    db.exec('BEGIN IMMEDIATE');
    try {
      db.exec(MIGRATIONS[next] as string);
      db.exec(`PRAGMA user_version = ${next + 1}`);
      db.exec('COMMIT');
    } catch (error) {
      db.exec('ROLLBACK');
      throw error;
    }
  }
}
