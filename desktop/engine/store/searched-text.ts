/** Makes the text by which a download is found: the parts that tell it from other downloads. */

import type { DownloadRecord } from './record.ts';

/**
 * Returns the name with the folders below the download folder, URLs without their scheme, category,
 * and error. The download folder is left out because it is the same for nearly all downloads.
 */
export function searchedText(
  record: Pick<DownloadRecord, 'name' | 'request' | 'category' | 'error'>,
): string {
  const { name, request, category, error } = record;
  const urls = request.urls.map((url) => url.replace(/^https?:\/\//i, ''));
  const parts = [name, ...urls, category, error?.code, error?.message];
  return parts.filter((part) => part !== undefined).join('\n');
}
