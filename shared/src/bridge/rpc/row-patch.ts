/** Rows of a list, and changes to them. */

import type { DownloadView } from './daemon-api.ts';
import type { RowPatch } from './live-api.ts';

const FIGURES = [
  'phase',
  'length',
  'storedBytes',
  'receivedBytes',
  'bytesPerSecond',
  'etaMs',
  'connections',
] as const satisfies readonly (keyof DownloadView)[];

/** Picks the figures, which change all the time while a download runs. */
export function figuresOf(row: DownloadView): RowPatch {
  const figures = FIGURES.map((name) => [name, row[name] ?? null]);
  return { gid: row.gid, ...Object.fromEntries(figures) };
}

/**
 * Applies changes to a row. A patch that has `urls` is a complete row, and replaces the earlier
 * one.
 *
 * @param row undefined: not known before, so the patch is a complete row
 */
export function applyRowPatch(row: DownloadView | undefined, patch: RowPatch): DownloadView {
  const result: Record<string, unknown> = 'urls' in patch ? {} : { ...row };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[name];
    else result[name] = value;
  }
  return result as unknown as DownloadView;
}
