/** Links of a page, before anything is known of their files but what the page says. */

/** Most links that are taken from one page, and from a folder with the folders below it. */
export const MAX_PAGE_LINKS = 10_000;
/** Most levels of folders below a listing that are looked into. */
export const MAX_DEPTH = 8;
/** Largest page that is read, in bytes: a listing of 10,000 files with long names. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

export interface PageLink {
  /** http: or https:, without a fragment. */
  readonly url: string;
  /** Bytes as the listing says, which may be rounded; undefined: it does not say. */
  readonly size?: number;
  /** True for a folder below the page. Only listings have folders. */
  readonly isFolder: boolean;
  /** Folder below the page that the file is in, its parts safe as names, joined by "/"; empty: none. */
  readonly folder: string;
}

export interface PageLinks {
  /** True for a listing of a folder: its links are the files and folders in it, and nothing else. */
  readonly isListing: boolean;
  /** Each link once, in the order of the page. */
  readonly links: readonly PageLink[];
  /** True if the page has more links or files than these, and does not tell where. */
  readonly truncated: boolean;
  /** URL of the page that has more of them. */
  readonly next?: string;
}
