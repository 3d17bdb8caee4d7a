/** Describes links that were found in a text or on a page: names, categories, folders, duplicates. */

import { resolve } from 'node:path';
import type { FoundLink } from '@millrace/shared/bridge/rpc/adding-api';
import type { CurlDownload } from '@millrace/shared/download/adding/curl-command';
import { looksLikeMetalink } from '@millrace/shared/download/metalink/metalink-types';
import { categoryOf } from '@millrace/shared/download/request/category';
import { isExnodeLink, isTorrentName } from '@millrace/shared/download/request/document-name';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import { looksOneTime } from '@millrace/shared/download/request/signed-url';
import { inTurns } from '../platform/turns.ts';
import { duplicateOf } from './duplicates.ts';
import type { Manager } from './manager.ts';

/** Describes links, in their order. Other calls have their turns between the links of a long list. */
export function linksOf(manager: Manager, found: readonly CurlDownload[]): Promise<FoundLink[]> {
  return inTurns(found, (link) => linkOf(manager, link));
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
    ...(looksOneTime(url) ? { once: true } : {}),
    duplicate: duplicateOf(manager.store, url),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  };
}
