/** Rows of a list, and patches with the members that changed. */

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
 * A row with its changes. A patch that has `urls` is a complete row and replaces the one before.
 *
 * @param row undefined: not known before; then the patch is complete
 */
export function applyRowPatch(row: DownloadView | undefined, patch: RowPatch): DownloadView {
  const result: Record<string, unknown> = 'urls' in patch ? {} : { ...row };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[name];
    else result[name] = value;
  }
  return result as unknown as DownloadView;
}
