/** Turns a download into a row of the database. */

import type { SQLInputValue } from 'node:sqlite';
import { isOpen } from '@millrace/shared/download/after/after';
import type { DownloadRecord } from './record.ts';
import { searchedText } from './searched-text.ts';

/** Characters of a download's text that are searched. */
const MAX_TEXT_CHARS = 4096;
/** Most words in one search; further ones are ignored. */
const MAX_WORDS = 16;

const COLUMNS = [
  'gid',
  'state',
  'request',
  'options',
  'priority',
  'rank',
  'category',
  'host',
  'name',
  'path',
  'length',
  'stored_bytes',
  'received_bytes',
  'created_at',
  'started_at',
  'finished_at',
  'attempts',
  'retry_at',
  'error',
  'digest',
  'vouch',
  'after',
  'after_open',
  'active_ms',
  'text',
] as const;

/** Adds a row, or replaces the one with the same gid. */
export const PUT_DOWNLOAD = `INSERT INTO downloads (${COLUMNS.join()}) VALUES (${COLUMNS.map((c) => `:${c}`).join()})
  ON CONFLICT (gid) DO UPDATE SET ${COLUMNS.slice(1).map((name) => `${name} = excluded.${name}`)}`;

/** Folds case and different encodings of one character; drops NUL, which would end the text. */
function normalise(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll('\0', '');
}

/** Returns the words of a search as the texts of downloads have them, each once. */
export function searchedWords(text: string): string[] {
  const words = normalise(text.slice(0, MAX_TEXT_CHARS)).split(/\s+/);
  return [...new Set(words.filter((word) => word !== ''))].slice(0, MAX_WORDS);
}

/** Returns the values of all columns, by name. */
export function toRow(r: DownloadRecord): Record<string, SQLInputValue> {
  return {
    gid: r.gid,
    state: r.state,
    request: JSON.stringify(r.request),
    options: JSON.stringify(r.options),
    priority: r.priority,
    rank: r.rank,
    category: r.category ?? null,
    host: r.host,
    name: r.name,
    path: r.path ?? null,
    length: r.length ?? null,
    stored_bytes: r.storedBytes,
    received_bytes: r.receivedBytes,
    created_at: Math.round(r.createdAt),
    started_at: round(r.startedAt),
    finished_at: round(r.finishedAt),
    attempts: r.attempts,
    retry_at: round(r.retryAt),
    error: r.error === undefined ? null : JSON.stringify(r.error),
    digest: r.digest === undefined ? null : JSON.stringify(r.digest),
    vouch: r.vouch === undefined ? null : JSON.stringify(r.vouch),
    after: r.after === undefined ? null : JSON.stringify(r.after),
    after_open: isOpen(r.after) ? 1 : 0,
    active_ms: Math.round(r.activeMs ?? 0),
    text: normalise(searchedText(r)).slice(0, MAX_TEXT_CHARS),
  };
}

function round(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}
