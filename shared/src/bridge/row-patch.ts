/** What of a row has changed, and a row with its changes. */

import type { DownloadView } from './daemon-api.ts';
import type { RowPatch } from './live-api.ts';

/** @returns undefined if nothing has changed */
export function rowPatch(
  before: DownloadView | undefined,
  now: DownloadView,
): RowPatch | undefined {
  if (before === undefined) return now;
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const [old, value] = [before, now].map((row) => row[name as keyof DownloadView]);
    if (!isSame(old, value)) patch[name] = value ?? null;
  }
  if (Object.keys(patch).length === 0) return undefined;
  return { ...patch, gid: now.gid };
}

/** A row that is not known yet comes complete: then `row` is undefined. */
export function applyRowPatch(row: DownloadView | undefined, patch: RowPatch): DownloadView {
  const result: Record<string, unknown> = { ...row };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[name];
    else result[name] = value;
  }
  return result as unknown as DownloadView;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  return JSON.stringify(a) === JSON.stringify(b);
}
