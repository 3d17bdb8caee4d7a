/**
 * Looks into the folders of a listing, and into theirs. Says which page to read next, and collects
 * the files. A server decides how many folders there are, so everything is bounded.
 */

import { nameFromUrl, safeFileName } from '../request/file-name.ts';
import { MAX_DEPTH, MAX_PAGE_LINKS, type PageLink, type PageLinks } from './page-link.ts';

/** Most pages of one walk. */
const MAX_PAGES = 300;

/** A page to read. */
export interface WalkStep {
  readonly url: string;
  /** Folder below the first page, its parts safe as names; empty for the first page. */
  readonly folder: string;
  readonly depth: number;
}

export interface Walked {
  readonly isListing: boolean;
  /** Files, those of a folder before those of the folders in it. */
  readonly files: readonly PageLink[];
  /** Number of folders that were not looked into, because of the depth or the bounds. */
  readonly folders: number;
  readonly truncated: boolean;
}

export class FolderWalk {
  readonly #depth: number;
  readonly #waiting: WalkStep[] = [];
  readonly #seen = new Set<string>();
  readonly #pages: { readonly step: WalkStep; readonly links: readonly PageLink[] }[] = [];
  readonly #fileUrls = new Set<string>();
  /** Folder of the first page, once it has been read: others must be below it. */
  #top: string | undefined;
  #isListing = true;
  #unread = 0;
  #truncated = false;

  /** @param depth levels of folders to look into: 0 reads the page alone */
  constructor(url: string, depth: number) {
    this.#depth = Math.min(depth, MAX_DEPTH);
    this.#add({ url, folder: '', depth: 0 });
  }

  /** Returns a page to read now; undefined: none, unless a page that is being read names more. */
  next(): WalkStep | undefined {
    return this.#waiting.shift();
  }

  /**
   * Takes the links of a page.
   *
   * @param url of the page, after redirects
   */
  took(step: WalkStep, url: string, { isListing, links, truncated, next }: PageLinks): void {
    const isFirst = this.#top === undefined;
    if (isFirst) this.#isListing = isListing;
    this.#top ??= new URL('.', url).href;
    // A redirect may lead to other places, and what is no listing has no files of the folder.
    if (!url.startsWith(this.#top) || !(isFirst || isListing)) return;
    this.#truncated ||= truncated;
    this.#seen.add(url);
    const files: PageLink[] = [];
    for (const link of links) {
      const folder = [step.folder, link.folder].filter((part) => part !== '').join('/');
      if (link.isFolder) {
        const name = [folder, folderName(link.url)].filter((part) => part !== '').join('/');
        this.#add({ url: link.url, folder: name, depth: step.depth + 1 });
      } else if (!this.#fileUrls.has(link.url)) {
        if (this.#fileUrls.size === MAX_PAGE_LINKS) {
          this.#truncated = true;
          break;
        }
        this.#fileUrls.add(link.url);
        files.push({ ...link, folder });
      }
    }
    this.#pages.push({ step, links: files });
    if (next !== undefined) this.#goOn(step, next);
  }

  /** Returns what was found, also while pages wait to be read. */
  result(): Walked {
    const pages = this.#pages.toSorted((a, b) => compare(a.step.folder, b.step.folder));
    return {
      isListing: this.#isListing,
      files: pages.flatMap(({ links }) => links),
      folders: this.#unread + this.#waiting.length,
      truncated: this.#truncated || this.#waiting.length > 0,
    };
  }

  /** Has the rest of a folder read, which the server gives on another page. */
  #goOn({ folder, depth }: WalkStep, next: string): void {
    if (this.#seen.has(next)) return;
    if (this.#seen.size >= MAX_PAGES || this.#fileUrls.size === MAX_PAGE_LINKS) {
      this.#truncated = true;
    } else this.#add({ url: next, folder, depth });
  }

  #add(step: WalkStep): void {
    if (this.#seen.has(step.url)) return;
    if (step.depth > this.#depth || this.#seen.size >= MAX_PAGES) {
      this.#unread++;
      this.#truncated ||= step.depth <= this.#depth;
      return;
    }
    this.#seen.add(step.url);
    this.#waiting.push(step);
  }
}

/** Returns the name of a folder by its URL; one of a bucket is in the query. */
function folderName(url: string): string {
  const { searchParams } = new URL(url);
  const prefix = searchParams.get('prefix');
  if (prefix !== null) return safeFileName(prefix.split('/').filter(Boolean).at(-1) ?? '');
  return nameFromUrl(url.replace(/\/$/, ''));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
