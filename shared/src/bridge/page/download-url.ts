/** Tells which addresses from outside may be offered for download. */

import { MAX_URL_CHARS } from '../../base/limits.ts';
import { isFetchable } from '../../download/request/source-kinds.ts';

/** Returns true for absolute URLs that a download can fetch, without a log-in in them. */
export function isDownloadUrl(text: string): boolean {
  if (text.length > MAX_URL_CHARS) return false;
  const url = parsed(text);
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  return isFetchable(url.href) && url.hostname !== '';
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
