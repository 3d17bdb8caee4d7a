/** Exports the list of downloads to a file, and imports lists from files. */

import type { ImportEntry } from '@millrace/shared/bridge/rpc/adding-api';

/** Formats of lists, with their file extensions. */
export const FORMATS = { json: 'json', urls: 'txt', aria2: 'txt' } as const;
export type Format = keyof typeof FORMATS;

/** Most bytes of an imported list. A call may be little larger, with the syntax around the text. */
export const MAX_IMPORT_BYTES = 15 * 1024 * 1024;

/** Returns the name of an exported file. @param now Unix milliseconds: the name has the day */
export function exportName(format: Format, now: number): string {
  const day = new Date(now).toISOString().slice(0, 10);
  const kind = format === 'aria2' ? 'aria2-' : '';
  return `millrace-${kind}${day}.${FORMATS[format]}`;
}

/** Has the browser save a text as a file. */
export function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Saving begins after this function returns; a minute later the browser has read the URL.
  setTimeout(() => URL.revokeObjectURL(url), RELEASE_MS);
}

const RELEASE_MS = 60_000;

/** Groups listed downloads by the folder that they would be saved in, in the list's order. */
export function foldersOf(entries: readonly ImportEntry[]): [string, ImportEntry[]][] {
  const folders = new Map<string, ImportEntry[]>();
  for (const entry of entries) {
    const inside = folders.get(entry.dir);
    if (inside === undefined) folders.set(entry.dir, [entry]);
    else inside.push(entry);
  }
  return [...folders];
}
