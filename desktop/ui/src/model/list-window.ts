/**
 * The loaded part of a long list: pages, each as of some revision of the whole list. Pages of an
 * older revision are shown until they have been read again, so that nothing flickers.
 */

export const PAGE_ROWS = 100;

interface Page {
  readonly revision: number;
  readonly gids: readonly string[];
}

export interface ListWindow {
  /** Number of rows of the whole list. */
  readonly total: number;
  /** Newest known revision. */
  readonly revision: number;
  readonly pages: ReadonlyMap<number, Page>;
}

export const EMPTY_WINDOW: ListWindow = { total: 0, revision: -1, pages: new Map() };

/** Takes in a page, unless the known page is newer. @param offset a multiple of PAGE_ROWS */
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

/**
 * Begins a list with its first page, without the pages of the list before it. A revision that was
 * told while the page was on its way still counts: the page is then old, and read again.
 */
export function withFirstPage(
  before: ListWindow,
  page: { readonly total: number; readonly gids: readonly string[]; readonly revision: number },
): ListWindow {
  return withPage({ ...EMPTY_WINDOW, revision: before.revision }, 0, page);
}

/** Sets the list's revision: pages of other revisions have to be read again. */
export function withRevision(list: ListWindow, revision: number): ListWindow {
  return revision === list.revision ? list : { ...list, revision };
}

/** Returns the offsets of pages that rows from `first` to `last` need, but are missing or old. */
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

/** Returns the place of a download in the loaded pages; -1 if it is in none of them. */
export function indexOf(list: ListWindow, gid: string): number {
  for (const [number, { gids }] of list.pages) {
    const at = gids.indexOf(gid);
    if (at >= 0) return number * PAGE_ROWS + at;
  }
  return -1;
}

/** Returns the known gids between two places, both included. */
export function gidsBetween(list: ListWindow, a: number, b: number): string[] {
  const gids: string[] = [];
  for (let i = Math.min(a, b); i <= Math.max(a, b); i++) {
    const gid = gidAt(list, i);
    if (gid !== undefined) gids.push(gid);
  }
  return gids;
}

/** Records the reads of pages under way, so that no page is read twice for the same reason. */
export class PageReads {
  readonly #running = new Set<string>();
  #round = 0;

  /** Marks the reads under way as out of date: the list has changed since they began. */
  outdate(): void {
    this.#round++;
  }

  /**
   * Records that a page is about to be read.
   *
   * @param query number of the filter, order and words that the page is read for
   * @param revision newest known revision of the list
   * @returns a function to call after the read; undefined if the page is being read already
   */
  begin(query: number, offset: number, revision: number): (() => void) | undefined {
    const key = `${query}:${offset}:${revision}:${this.#round}`;
    if (this.#running.has(key)) return undefined;
    this.#running.add(key);
    return () => this.#running.delete(key);
  }
}

/** Gives pages a revision that no list has: all are read again when they are needed. */
export function stale(pages: ListWindow['pages']): ListWindow['pages'] {
  return new Map([...pages].map(([number, page]) => [number, { ...page, revision: -1 }]));
}
