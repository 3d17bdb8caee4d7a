/**
 * The journal beside a partial file records which bytes of the file are known to be right. It is
 * text with one JSON value per line: first a header that identifies the download, then a line for
 * each range of bytes with its digest, as soon as the bytes are written. Such a line is trusted
 * only if the bytes still match its digest: written bytes survive the end of the process, but not
 * a crash of the machine. Once the bytes are flushed to disk, another line says so. Where somebody
 * has stated digests of blocks, a line names the bytes that have them. A torn or damaged line costs
 * only its own range.
 */

import type { ByteRange } from '../../base/byte-range.ts';
import type { Validators } from '../../http/fields/validators.ts';

/** Identity of the file that is being downloaded. */
export interface JournalHeader {
  /** Origin URL as the user gave it. */
  readonly url: string;
  readonly length: number;
  readonly validators: Validators;
}

/** Bytes that were written before their line. */
export interface JournalEntry {
  readonly range: ByteRange;
  /** XXH64 of the bytes, 16 hexadecimal digits. */
  readonly digest: string;
}

/** Bytes that have the digests that somebody has stated for their blocks. */
export interface ProvenEntry {
  readonly range: ByteRange;
  /** Name of these digests, 32 hexadecimal digits. */
  readonly by: string;
}

export interface Journal {
  readonly header: JournalHeader;
  /** Entries in the order written; later entries are as good as earlier ones. */
  readonly entries: readonly JournalEntry[];
  /** Number of entries, from the first on, that were flushed to disk. */
  readonly flushed: number;
  /** As good as the entries for the same bytes. */
  readonly proven: readonly ProvenEntry[];
}

const FORMAT = 2;

/** Formats the journal's first line, line end included. */
export function formatHeader(header: JournalHeader): string {
  return `${JSON.stringify({ millrace: 'journal', format: FORMAT, ...header })}\n`;
}

/** Formats the line of a range of bytes, line end included. */
export function formatEntry({ range, digest }: JournalEntry): string {
  return `${JSON.stringify([range.start, range.end, digest])}\n`;
}

/**
 * Formats a line that says that the bytes of earlier lines are flushed to disk, line end included.
 *
 * @param lines number of those lines, counted from the one after the header
 */
export function formatFlushed(lines: number): string {
  return `${JSON.stringify(['flushed', lines])}\n`;
}

/** Formats a line about proven bytes, line end included. */
export function formatProven({ range, by }: ProvenEntry): string {
  return `${JSON.stringify(['proven', range.start, range.end, by])}\n`;
}

/**
 * Reads a journal.
 *
 * @returns undefined if the text is not a journal of the known format; malformed lines are skipped
 */
export function parseJournal(text: string): Journal | undefined {
  const lines = text.split('\n');
  // The text after the last line end is empty or a torn line.
  lines.pop();
  const header = parseHeader(lines.shift() ?? '');
  if (header === undefined) return undefined;
  const entries: JournalEntry[] = [];
  const proven: ProvenEntry[] = [];
  let flushedLines = 0;
  /** Number of lines up to each entry, to find the entries that are flushed. */
  const ends: number[] = [];
  for (const [index, line] of lines.entries()) {
    // Skip lines without a list, to avoid the cost of an exception for each.
    const value = line.startsWith('[') ? parseJson(line) : undefined;
    if (!Array.isArray(value)) continue;
    const entry = readEntry(value, header.length);
    if (entry !== undefined) {
      entries.push(entry);
      ends.push(index + 1);
    } else if (value[0] === 'flushed' && Number.isSafeInteger(value[1])) {
      flushedLines = Math.max(flushedLines, Math.min(value[1], index));
    } else if (value[0] === 'proven') {
      const range = readRange(value.slice(1), header.length);
      if (range !== undefined && isName(value[3])) proven.push({ range, by: value[3] });
    }
  }
  const later = ends.findIndex((end) => end > flushedLines);
  return { header, entries, flushed: later < 0 ? entries.length : later, proven };
}

function parseHeader(line: string): JournalHeader | undefined {
  const value = parseJson(line) as Partial<Record<string, unknown>> | undefined;
  if (value?.millrace !== 'journal' || value.format !== FORMAT) return undefined;
  const { url, length, validators } = value;
  if (typeof url !== 'string' || !Number.isSafeInteger(length) || (length as number) < 0) {
    return undefined;
  }
  if (!areValidators(validators)) return undefined;
  return { url, length: length as number, validators };
}

/** Returns true for well-formed validators: a damaged one could match another version. */
function areValidators(value: unknown): value is Validators {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { etag, weakEtag, lastModified, lastModifiedIsStrong } = value as Record<string, unknown>;
  const isText = (tag: unknown) => tag === undefined || typeof tag === 'string';
  return (
    isText(etag) &&
    isText(weakEtag) &&
    (lastModified === undefined || Number.isFinite(lastModified)) &&
    (lastModifiedIsStrong === undefined || typeof lastModifiedIsStrong === 'boolean')
  );
}

function readEntry(value: readonly unknown[], length: number): JournalEntry | undefined {
  const range = readRange(value, length);
  const digest = value[2];
  if (range === undefined || typeof digest !== 'string') return undefined;
  return /^[0-9a-f]{16}$/.test(digest) ? { range, digest } : undefined;
}

function readRange([start, end]: readonly unknown[], length: number): ByteRange | undefined {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return undefined;
  const range = { start: start as number, end: end as number };
  return range.start < 0 || range.end <= range.start || range.end > length ? undefined : range;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
