/**
 * Counts of downloads by day, file and country, for publishers: in bounded memory, to be kept over a
 * restart, and as CSV (RFC 4180).
 */

import { DAY_MS } from './open-downloads.ts';

/** Downloads of one file on one day by clients in one country. */
export interface DownloadCount {
  /** Day on which the downloads began, as `2026-03-01`, UTC. */
  readonly day: string;
  readonly file: string;
  /** ISO 3166-1 code of two letters; `ZZ`: not known, or one of too many countries of a file. */
  readonly country: string;
  readonly begun: number;
  /** Those of the begun downloads that have come to their end. */
  readonly completed: number;
  /** Body bytes sent, those sent twice counted twice. */
  readonly bytes: number;
}

/** Counts to be added. */
export type Growth = Pick<DownloadCount, 'begun' | 'completed' | 'bytes'>;

/** Country of clients that no database places. */
export const NOWHERE = 'ZZ';
/** Row of the files that have no row of their own. */
export const OTHER_FILES = 'other files';
/** Most days kept. */
export const MAX_DAYS = 400;
/** Most files with rows of their own on one day, and most countries of one of them. */
const MAX_FILES = 500;
const MAX_COUNTRIES = 60;
/** Most counts kept; the oldest days go first. */
const MAX_COUNTS = 50_000;
const MAX_NAME_CHARS = 1000;
/** Memory of one count with its share of the tables around it, bytes. */
const COUNT_BYTES = 500;

type Countries = Map<string, [begun: number, completed: number, bytes: number]>;
type Files = Map<string, Countries>;

export class DownloadTable {
  readonly #days = new Map<number, Files>();
  readonly #maxFiles: number;
  #counts = 0;

  /** @param maxFiles files with rows of their own on one day */
  constructor(maxFiles = MAX_FILES) {
    this.#maxFiles = maxFiles;
  }

  /** Memory that the counts take, bytes. */
  get bytes(): number {
    return this.#counts * COUNT_BYTES;
  }

  /** Adds to a count. @param day number since 1970, UTC */
  add(day: number, file: string, country: string, growth: Growth): void {
    const { begun, completed, bytes } = growth;
    this.#addTo(this.#files(day), file.slice(0, MAX_NAME_CHARS), country, begun, completed, bytes);
    this.#forget();
  }

  /** Lists the counts of the days `from` to `to` (inclusive), sorted by day, file and country. */
  rows(from: number, to: number): DownloadCount[] {
    const rows: DownloadCount[] = [];
    for (const day of [...this.#days.keys()].sort((a, b) => a - b)) {
      if (day < from || day > to) continue;
      for (const [file, countries] of sorted(this.#days.get(day) as Files)) {
        for (const [country, [begun, completed, bytes]] of sorted(countries)) {
          rows.push({ day: dayText(day), file, country, begun, completed, bytes });
        }
      }
    }
    return rows;
  }

  /** State to keep over a restart. */
  save(): DownloadCount[] {
    return this.rows(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /** Restores saved state; entries that are malformed are left out. */
  restore(saved: unknown): void {
    if (!Array.isArray(saved)) return;
    for (const row of saved.slice(-MAX_COUNTS)) {
      if (isCount(row)) this.add(Date.parse(row.day) / DAY_MS, row.file, row.country, row);
    }
  }

  #files(day: number): Files {
    let files = this.#days.get(day);
    if (files === undefined) {
      files = new Map();
      this.#days.set(day, files);
    }
    return files;
  }

  #addTo(
    files: Files,
    file: string,
    country: string,
    ...growth: [begun: number, completed: number, bytes: number]
  ): void {
    let countries = files.get(file);
    if (countries === undefined) {
      if (file !== OTHER_FILES && files.size >= this.#maxFiles) this.#giveUpLeast(files);
      countries = new Map();
      files.set(file, countries);
    }
    const isNew = !countries.has(country);
    const name = isNew && countries.size >= MAX_COUNTRIES ? NOWHERE : country;
    let counts = countries.get(name);
    if (counts === undefined) {
      counts = [0, 0, 0];
      countries.set(name, counts);
      this.#counts++;
    }
    growth.forEach((more, i) => {
      (counts as number[])[i] = (counts[i] as number) + more;
    });
  }

  /**
   * Moves the counts of the file with the fewest downloads to those of the other files. Made-up
   * names, of which each is asked for once, push each other out, and no file that is in demand.
   */
  #giveUpLeast(files: Files): void {
    let least: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [file, countries] of files) {
      if (file === OTHER_FILES) continue;
      let begun = 0;
      for (const [count] of countries.values()) begun += count;
      if (begun < fewest) [least, fewest] = [file, begun];
    }
    if (least === undefined) return;
    const countries = files.get(least) as Countries;
    files.delete(least);
    this.#counts -= countries.size;
    for (const [country, counts] of countries) this.#addTo(files, OTHER_FILES, country, ...counts);
  }

  #forget(): void {
    if (this.#days.size <= MAX_DAYS && this.#counts <= MAX_COUNTS) return;
    const oldest = Math.min(...this.#days.keys());
    for (const countries of this.#days.get(oldest)?.values() ?? []) this.#counts -= countries.size;
    this.#days.delete(oldest);
  }
}

/** Parts of a count that sums may be made by. */
export type CountPart = 'day' | 'file' | 'country';

/** Sums counts by one of their parts, in the order in which its values first come. */
export function summedBy(
  rows: readonly DownloadCount[],
  part: CountPart,
): (Growth & { readonly name: string })[] {
  const sums = new Map<string, { name: string; begun: number; completed: number; bytes: number }>();
  for (const row of rows) {
    const name = row[part];
    const sum = sums.get(name) ?? { name, begun: 0, completed: 0, bytes: 0 };
    sums.set(name, sum);
    sum.begun += row.begun;
    sum.completed += row.completed;
    sum.bytes += row.bytes;
  }
  return [...sums.values()];
}

/** Writes counts as CSV with a line of names (RFC 4180). */
export function countsCsv(rows: readonly DownloadCount[]): string {
  const lines = rows.map(({ day, file, country, begun, completed, bytes }) =>
    [day, quoted(file), country, begun, completed, bytes].join(),
  );
  return ['day,file,country,begun,completed,bytes', ...lines, ''].join('\r\n');
}

/** Names a day, as `2026-03-01`. @param day number since 1970, UTC */
function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function sorted<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function isCount(value: unknown): value is DownloadCount {
  if (typeof value !== 'object' || value === null) return false;
  const row = value as Partial<Record<keyof DownloadCount, unknown>>;
  const { day, file, country } = row;
  const isDay = typeof day === 'string' && /^\d{4}-\d\d-\d\d$/.test(day);
  if (!isDay || Number.isNaN(Date.parse(day)) || typeof file !== 'string') return false;
  if (typeof country !== 'string' || !/^[A-Z]{2}$/.test(country)) return false;
  return [row.begun, row.completed, row.bytes].every(
    (count) => Number.isSafeInteger(count) && (count as number) >= 0,
  );
}
