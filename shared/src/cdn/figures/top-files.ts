/**
 * Finds the files, and the parts of them, that are asked for most: a count per file and cell in
 * bounded memory, by the space-saving algorithm (Metwally, Agrawal, El Abbadi: Efficient
 * Computation of Frequent and Top-k Elements in Data Streams, ICDT 2005). A file that is asked for
 * often is always among them; for a file that came in late, earlier counts are not known.
 */

import type { Millis } from '../../base/clock.ts';

/** Most files counted at a time. */
const MAX_TOP_FILES = 64;
/** Most cells of one file; a longer file has several chunks in a cell. */
export const MAX_HEAT_CELLS = 200;
/** Time after which a count is worth half, by default. */
const HALF_LIFE_MS: Millis = 600_000;

/** One chunk that was delivered. */
export interface ChunkUse {
  readonly url: string;
  /** Bytes of the file. */
  readonly length: number;
  /** Index of the chunk. */
  readonly chunk: number;
  readonly chunkBytes: number;
  /** Bytes of the chunk. */
  readonly bytes: number;
}

/** Demand for a file. */
export interface FileHeat {
  readonly url: string;
  readonly length: number;
  /** Chunks delivered lately; at most `error` of them were another file's. */
  readonly count: number;
  readonly error: number;
  readonly bytes: number;
  /** Chunks delivered by place in the file, in equal parts; at most 200. */
  readonly cells: readonly number[];
}

interface Entry {
  url: string;
  length: number;
  chunks: number;
  count: number;
  error: number;
  bytes: number;
  cells: Float64Array;
}

export class TopFiles {
  readonly #maxFiles: number;
  readonly #halfLifeMs: Millis;
  readonly #entries = new Map<string, Entry>();
  #halvedAt: Millis;

  /**
   * @param now milliseconds of the clock that later calls use
   * @param maxFiles files counted at a time
   * @param halfLifeMs milliseconds after which a count is worth half
   */
  constructor(now: Millis, maxFiles = MAX_TOP_FILES, halfLifeMs = HALF_LIFE_MS) {
    this.#maxFiles = maxFiles;
    this.#halfLifeMs = halfLifeMs;
    this.#halvedAt = now;
  }

  /** Counts a chunk: a lookup if the file is known, else a search of `maxFiles` entries. */
  record(use: ChunkUse, now: Millis): void {
    if (now - this.#halvedAt >= this.#halfLifeMs) this.#age(now);
    let entry = this.#entries.get(use.url);
    entry ??= this.#admit(use);
    // Another version may have another length: its cells mean other places.
    if (entry.length !== use.length) Object.assign(entry, places(use));
    entry.count++;
    entry.bytes += use.bytes;
    const cell = Math.floor((use.chunk * entry.cells.length) / entry.chunks);
    if (cell < entry.cells.length) entry.cells[cell] = (entry.cells[cell] as number) + 1;
  }

  /** Returns the files asked for most, in descending order. */
  top(limit: number): FileHeat[] {
    return ranked([...this.#entries.values()], limit).map((entry) => ({
      url: entry.url,
      length: entry.length,
      count: round(entry.count),
      error: round(entry.error),
      bytes: Math.round(entry.bytes),
      cells: Array.from(entry.cells, round),
    }));
  }

  /** A new file replaces the one asked for least, and takes over its count as possible error. */
  #admit(use: ChunkUse): Entry {
    let error = 0;
    if (this.#entries.size >= this.#maxFiles) {
      let least: Entry | undefined;
      for (const entry of this.#entries.values()) {
        if (least === undefined || entry.count < least.count) least = entry;
      }
      error = least?.count ?? 0;
      this.#entries.delete(least?.url ?? '');
    }
    const entry: Entry = { url: use.url, count: error, error, bytes: 0, ...places(use) };
    this.#entries.set(use.url, entry);
    return entry;
  }

  #age(now: Millis): void {
    const halvings = Math.floor((now - this.#halvedAt) / this.#halfLifeMs);
    this.#halvedAt += halvings * this.#halfLifeMs;
    const factor = 0.5 ** halvings;
    for (const entry of this.#entries.values()) {
      entry.count *= factor;
      entry.error *= factor;
      entry.bytes *= factor;
      for (let i = 0; i < entry.cells.length; i++) {
        entry.cells[i] = (entry.cells[i] as number) * factor;
      }
    }
  }
}

/** Merges the counts of several processes into one list. */
export function mergeTopFiles(lists: readonly (readonly FileHeat[])[], limit: number): FileHeat[] {
  const merged = new Map<string, FileHeat>();
  for (const file of lists.flat()) {
    const known = merged.get(file.url);
    merged.set(file.url, known === undefined ? file : added(known, file));
  }
  return ranked([...merged.values()], limit);
}

function added(a: FileHeat, b: FileHeat): FileHeat {
  // Of two versions, the one with more requests is shown.
  const [main, other] = a.count >= b.count ? [a, b] : [b, a];
  const alike = main.length === other.length && main.cells.length === other.cells.length;
  return {
    ...main,
    count: round(a.count + b.count),
    error: round(a.error + b.error),
    bytes: a.bytes + b.bytes,
    cells: alike ? main.cells.map((n, i) => round(n + (other.cells[i] as number))) : main.cells,
  };
}

function places({ length, chunkBytes }: ChunkUse) {
  const chunks = Math.max(1, Math.ceil(length / chunkBytes));
  return { length, chunks, cells: new Float64Array(Math.min(chunks, MAX_HEAT_CELLS)) };
}

/** Sorts by the certain part of the count: the latest of many files took over others' counts. */
function ranked<T extends Pick<FileHeat, 'url' | 'count' | 'error'>>(
  files: readonly T[],
  limit: number,
): T[] {
  const sure = ({ count, error }: T) => count - error;
  return files
    .toSorted((a, b) => sure(b) - sure(a) || b.count - a.count || (a.url < b.url ? -1 : 1))
    .slice(0, limit);
}

const round = (count: number) => Math.round(count * 100) / 100;
