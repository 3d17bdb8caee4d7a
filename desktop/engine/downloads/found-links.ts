/** Describes links that were found in a text or on a page: names, categories, folders, duplicates. */

import { resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FoundLink } from '@millrace/shared/bridge/rpc/adding-api';
import type { CurlDownload } from '@millrace/shared/download/adding/curl-command';
import { looksLikeMetalink } from '@millrace/shared/download/metalink/metalink-types';
import { categoryOf } from '@millrace/shared/download/request/category';
import { isExnodeLink, isTorrentName } from '@millrace/shared/download/request/document-name';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import { duplicateOf } from './duplicates.ts';
import type { Manager } from './manager.ts';

/** Links that are described in one turn of the event loop. */
const A_TURN = 100;

/** Describes links, in their order. Other calls have their turns between the links of a long list. */
export async function linksOf(
  manager: Manager,
  found: readonly CurlDownload[],
): Promise<FoundLink[]> {
  const links: FoundLink[] = [];
  for (const [i, link] of found.entries()) {
    if (i > 0 && i % A_TURN === 0) await nextTurn();
    links.push(linkOf(manager, link));
  }
  return links;
}

/** Returns the category and the folder for a file of that name. */
export function placeOf({ settings, dir }: Manager, name: string) {
  const category = categoryOf(name, settings.categories);
  return { category: category?.name, dir: resolve(dir, category?.folder ?? '') };
}

function linkOf(manager: Manager, { url, ...options }: CurlDownload): FoundLink {
  const name = options.file ?? nameFromUrl(url);
  return {
    url,
    name,
    ...placeOf(manager, name),
    metalink: looksLikeMetalink(undefined, name) || isTorrentName(name),
    exnode: isExnodeLink(url),
    duplicate: duplicateOf(manager.store, url),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  };
}
