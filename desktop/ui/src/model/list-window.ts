/**
 * The part of a long list that is here: pages of it, each as of some revision of the whole. Pages of
 * an older revision are shown until they have been read again, so that nothing flickers.
 */

export const PAGE_ROWS = 100;

interface Page {
  readonly revision: number;
  readonly gids: readonly string[];
}

export interface ListWindow {
  /** Rows of the whole list. */
  readonly total: number;
  /** Newest revision that is known of. */
  readonly revision: number;
  readonly pages: ReadonlyMap<number, Page>;
}

export const EMPTY_WINDOW: ListWindow = { total: 0, revision: -1, pages: new Map() };

/**
 * Takes in a page, unless the answer is older than the list. @param offset a multiple of PAGE_ROWS
 */
export function withPage(
  list: ListWindow,
  offset: number,
  page: { readonly total: number; readonly gids: readonly string[]; readonly revision: number },
): ListWindow {
  const number = Math.floor(offset / PAGE_ROWS);
  const before = list.pages.get(number);
  if (before !== undefined && before.revision > page.revision) return list;
  const pages = new Map(list.pages);
  pages.set(number, { revision: page.revision, gids: page.gids });
  const last = Math.ceil(page.total / PAGE_ROWS);
  for (const known of pages.keys()) if (known >= last && known > 0) pages.delete(known);
  return { total: page.total, revision: Math.max(list.revision, page.revision), pages };
}

/** Notes that the list may have changed: its pages have to be read again. */
export function withRevision(list: ListWindow, revision: number): ListWindow {
  return revision === list.revision ? list : { ...list, revision };
}

/** Offsets of pages that rows from `first` to `last` need and that are missing or out of date. */
export function pagesToRead(list: ListWindow, first: number, last: number): number[] {
  const end = Math.min(last, Math.max(0, list.total - 1));
  const offsets: number[] = [];
  for (let page = Math.floor(Math.max(0, first) / PAGE_ROWS); page * PAGE_ROWS <= end; page++) {
    if (list.pages.get(page)?.revision !== list.revision) offsets.push(page * PAGE_ROWS);
  }
  return offsets;
}

export function gidAt(list: ListWindow, index: number): string | undefined {
  return list.pages.get(Math.floor(index / PAGE_ROWS))?.gids[index % PAGE_ROWS];
}

/** Place of a download among the pages that are here; -1 if it is not. */
export function indexOf(list: ListWindow, gid: string): number {
  for (const [number, { gids }] of list.pages) {
    const at = gids.indexOf(gid);
    if (at >= 0) return number * PAGE_ROWS + at;
  }
  return -1;
}

/** The known gids between two places, both included. */
export function gidsBetween(list: ListWindow, a: number, b: number): string[] {
  const gids: string[] = [];
  for (let i = Math.min(a, b); i <= Math.max(a, b); i++) {
    const gid = gidAt(list, i);
    if (gid !== undefined) gids.push(gid);
  }
  return gids;
}

/** Reads of pages under way, so that no page is read twice for the same reason. */
export class PageReads {
  readonly #running = new Set<string>();
  #round = 0;

  /** Requests under way are out of date from now on: the list has changed since. */
  outdate(): void {
    this.#round++;
  }

  /**
   * Notes that a page is about to be read.
   *
   * @param query number of the filter, order and words that it is read for
   * @param revision newest revision of the list that is known of
   * @returns to be called once it has been read; undefined if it is being read already
   */
  begin(query: number, offset: number, revision: number): (() => void) | undefined {
    const key = `${query}:${offset}:${revision}:${this.#round}`;
    if (this.#running.has(key)) return undefined;
    this.#running.add(key);
    return () => this.#running.delete(key);
  }
}
