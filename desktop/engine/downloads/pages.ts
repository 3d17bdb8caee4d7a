/** Reads pages and listings of folders for the dialog that adds downloads. Adds nothing. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { PageLinks as PageAnswer } from '@millrace/shared/bridge/rpc/adding-api';
import { FolderWalk, type WalkStep } from '@millrace/shared/download/listing/folder-walk';
import { MAX_PAGE_BYTES, type PageLinks } from '@millrace/shared/download/listing/page-link';
import { isPageType, readPage } from '@millrace/shared/download/listing/read-page';
import { listField } from '@millrace/shared/http/fields/headers';
import type { Connections } from '../sources/connections.ts';
import type { NewDownload } from './download-schema.ts';
import { linksOf } from './found-links.ts';
import type { Manager } from './manager.ts';

/** Longest time for a page and the folders below it, in milliseconds. */
const PAGES_MS = 30_000;
/** Pages that are read at a time, all of one server. */
const AT_ONCE = 3;
/** Most bytes of all pages of a call. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** Most folders whose errors are told. */
const MAX_UNREAD = 20;
const ACCEPT = 'text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8';

/**
 * Finds the links of the page that the first URL of a request leads to.
 *
 * @param depth levels of folders below a listing to look into
 * @throws MillraceError as `Manager.draft`; `origin-...` if the page cannot be had; `not-a-page`;
 *   `wrong-length` if it is too large. Folders below it that fail are in the answer.
 */
export async function pageLinks(
  manager: Manager,
  asked: NewDownload,
  depth: number,
  ms: Millis = PAGES_MS,
): Promise<PageAnswer> {
  const { request } = manager.draft(asked);
  // Imported here: the daemon starts without the code of transfers.
  const { Connections } = await import('../sources/connections.ts');
  const headers = { accept: ACCEPT, ...request.headers };
  const connections = await Connections.open({ ...request, headers });
  try {
    return await new Walker(manager, connections, AbortSignal.timeout(ms)).walk(depth);
  } finally {
    await connections.close();
  }
}

class Walker {
  readonly #manager: Manager;
  readonly #connections: Connections;
  readonly #late: AbortSignal;
  readonly #unread: { url: string; code: string }[] = [];
  #bytes = 0;

  constructor(manager: Manager, connections: Connections, late: AbortSignal) {
    this.#manager = manager;
    this.#connections = connections;
    this.#late = late;
  }

  async walk(depth: number): Promise<PageAnswer> {
    const walk = new FolderWalk(this.#connections.urls[0] as string, depth);
    const first = walk.next() as WalkStep;
    const { url, page } = await this.#read(first.url);
    walk.took(first, url, page);
    // In rounds, so that a page that is still being read may name more folders.
    for (let steps = take(walk); steps.length > 0; steps = take(walk)) {
      await Promise.all(steps.map((step) => this.#look(walk, step)));
      if (this.#late.aborted || this.#bytes >= MAX_TOTAL_BYTES) break;
    }
    const { isListing, files, folders, truncated } = walk.result();
    const links = await linksOf(
      this.#manager,
      files.map(({ url }) => ({ url })),
    );
    const wanted = files.map(({ size, folder }, i) => ({
      folder,
      wanted: isListing || links[i]?.category !== undefined,
      ...(size === undefined ? {} : { size }),
    }));
    return {
      url,
      listing: isListing,
      links: links.map((link, i) => ({ ...link, ...(wanted[i] as (typeof wanted)[number]) })),
      folders,
      truncated,
      unread: this.#unread,
    };
  }

  async #look(walk: FolderWalk, step: WalkStep): Promise<void> {
    try {
      const { url, page } = await this.#read(step.url);
      walk.took(step, url, page);
    } catch (error) {
      if (this.#unread.length === MAX_UNREAD) return;
      this.#unread.push({ url: step.url, code: asMillraceError(error).code });
    }
  }

  async #read(asked: string): Promise<{ url: string; page: PageLinks }> {
    try {
      const source = this.#connections.source('origin', asked, Math.random);
      const opened = await source.openWhole(this.#late);
      const field = listField(opened.headers, 'content-type') ?? '';
      const type = field.split(';')[0]?.trim().toLowerCase() || undefined;
      if (!isPageType(type)) {
        opened.discard();
        throw new MillraceError('not-a-page', { code: 'is-type', values: { type: type ?? '' } });
      }
      const pieces: Buffer[] = [];
      let bytes = 0;
      await opened.read((_position, piece) => {
        bytes += piece.length;
        if (bytes > MAX_PAGE_BYTES) {
          throw new MillraceError('wrong-length', {
            code: 'page-too-long',
            values: { mostBytes: MAX_PAGE_BYTES },
          });
        }
        pieces.push(Buffer.from(piece));
        return undefined;
      });
      this.#bytes += bytes;
      const url = source.answeredBy?.href ?? asked;
      // Reading a large page takes a while: other calls have their turn between two pages.
      await nextTurn();
      const page = readPage({ url, type, text: decoded(Buffer.concat(pieces), field) });
      if (page === undefined) throw new MillraceError('not-a-page');
      return { url, page };
    } catch (error) {
      if (this.#late.aborted) throw new MillraceError('origin-timeout', { code: 'page-late' });
      throw error;
    }
  }
}

function take(walk: FolderWalk): WalkStep[] {
  return Array.from({ length: AT_ONCE }, () => walk.next()).flatMap((step) => step ?? []);
}

/** Decodes a page by the charset of its field; UTF-8 if there is none, or none that is known. */
function decoded(body: Uint8Array, field: string): string {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(field)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
