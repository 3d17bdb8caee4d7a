/**
 * The journal beside a partial file: which bytes of it are known to be right. Text, one JSON value
 * a line: first what is being downloaded, then one line per stretch of bytes with its digest. A
 * line is written only after its bytes are on disk, and believed only if the bytes still have that
 * digest; a torn or damaged line costs its stretch, nothing else.
 */

import type { ByteRange } from '../base/byte-range.ts';
import type { Validators } from '../http/validators.ts';

/** What is being downloaded. */
export interface JournalHeader {
  /** Origin URL as the user gave it. */
  readonly url: string;
  readonly length: number;
  readonly validators: Validators;
}

/** Bytes that were on disk when the line was written. */
export interface JournalEntry {
  readonly range: ByteRange;
  /** SHA-256 of the bytes, 64 hexadecimal digits. */
  readonly digest: string;
}

export interface Journal {
  readonly header: JournalHeader;
  /** In the order written; later ones are as good as earlier ones. */
  readonly entries: readonly JournalEntry[];
}

const FORMAT = 1;

/** The journal's first line, line end included. */
export function formatHeader(header: JournalHeader): string {
  return `${JSON.stringify({ millrace: 'journal', format: FORMAT, ...header })}\n`;
}

/** A line for a stretch of bytes, line end included. */
export function formatEntry({ range, digest }: JournalEntry): string {
  return `${JSON.stringify([range.start, range.end, digest])}\n`;
}

/**
 * Reads a journal.
 *
 * @returns undefined if it is none or of a format that is not understood; lines that cannot be
 *   understood are left out
 */
export function parseJournal(text: string): Journal | undefined {
  const lines = text.split('\n');
  // The last line has no line end: nothing, or torn.
  lines.pop();
  const header = parseHeader(lines.shift() ?? '');
  if (header === undefined) return undefined;
  const entries = lines.flatMap((line) => parseEntry(line, header.length) ?? []);
  return { header, entries };
}

function parseHeader(line: string): JournalHeader | undefined {
  const value = parseJson(line) as Partial<Record<string, unknown>> | undefined;
  if (value?.millrace !== 'journal' || value.format !== FORMAT) return undefined;
  const { url, length, validators } = value;
  if (typeof url !== 'string' || !Number.isSafeInteger(length) || (length as number) < 0) {
    return undefined;
  }
  if (typeof validators !== 'object' || validators === null) return undefined;
  return { url, length: length as number, validators: validators as Validators };
}

function parseEntry(line: string, length: number): JournalEntry | undefined {
  const value = parseJson(line);
  if (!Array.isArray(value)) return undefined;
  const [start, end, digest] = value as unknown[];
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return undefined;
  const range = { start: start as number, end: end as number };
  if (range.start < 0 || range.end <= range.start || range.end > length) return undefined;
  if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
  return { range, digest };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
