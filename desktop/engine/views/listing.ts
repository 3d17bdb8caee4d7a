/**
 * Lists downloads: merges the queue in memory with the history in the database, sorted, by pages.
 */

import type { DownloadStatus } from '@millrace/shared/bridge/rpc/daemon-api';
import type { SortKey } from '@millrace/shared/bridge/rpc/list-api';
import { urgency } from '@millrace/shared/bridge/rpc/urgency';
import type { Manager } from '../downloads/manager.ts';
import type { HistoryRow } from '../store/download-store.ts';
import { type DownloadRecord, type FinishedState, isFinished } from '../store/record.ts';
import { searchedText } from '../store/searched-text.ts';
import { progressShare, type SortValue, STATUS_ORDER } from './sort-value.ts';

export interface Listing {
  readonly status?: readonly DownloadStatus[] | undefined;
  readonly category?: string | undefined;
  readonly host?: string | undefined;
  readonly text?: string | undefined;
  readonly sort?: SortKey | undefined;
  readonly descending?: boolean | undefined;
  readonly offset: number;
  readonly limit: number;
}

export function listRecords(
  manager: Manager,
  query: Listing,
): { total: number; records: DownloadRecord[] } {
  const { sort = 'queue', offset, limit } = query;
  const unfinished = matching(manager.unfinished(), query);
  const states = query.status?.filter((one): one is FinishedState => isFinished(one));
  const { category, host, text } = query;
  const filter = { states, category, host, text };
  if (sort !== 'queue') {
    return manager.store.whole(() => merged(manager, unfinished, query, sort, filter));
  }
  const history = manager.store.history(filter, {
    offset: Math.max(0, offset - unfinished.length),
    limit: Math.max(0, Math.min(limit, offset + limit - unfinished.length)),
  });
  return {
    total: unfinished.length + history.total,
    records: [...unfinished.slice(offset, offset + limit), ...history.records],
  };
}

function matching(records: readonly DownloadRecord[], query: Listing): DownloadRecord[] {
  const { status, category, host, text } = query;
  const words = (text ?? '').normalize('NFKC').toLowerCase().split(/\s+/);
  return records.filter((record) => {
    if (status !== undefined && !status.includes(record.state)) return false;
    if (category !== undefined && record.category !== category) return false;
    if (host !== undefined && record.host !== host) return false;
    if (text === undefined) return true;
    const whole = searchedText(record).normalize('NFKC').toLowerCase();
    return words.every((word) => whole.includes(word));
  });
}

/**
 * Merges queue and history in sorted order; reads only the part of the history that the page can
 * reach.
 */
function merged(
  manager: Manager,
  unfinished: readonly DownloadRecord[],
  { offset, limit, descending = false }: Listing,
  sort: Exclude<SortKey, 'queue'>,
  filter: Parameters<Manager['store']['history']>[0],
): { total: number; records: DownloadRecord[] } {
  const way = descending ? -1 : 1;
  const own = unfinished
    .map((record) => ({ value: sortValue(manager, record, sort), record }))
    .sort((a, b) => compare(a.value, b.value, way));
  // Entries of the history that are certainly before the page.
  const skipped = Math.max(0, offset - own.length);
  const rows = manager.store.sorted(filter, sort, descending, skipped, own.length + limit);
  const page: (DownloadRecord | HistoryRow)[] = [];
  let [i, j] = [0, 0];
  for (let at = skipped; at < offset + limit; at++) {
    const [a, b] = [own[i], rows.page[j]];
    if (a === undefined && b === undefined) break;
    const takeOwn = b === undefined || (a !== undefined && compare(a.value, b.value, way) <= 0);
    if (takeOwn) i++;
    else j++;
    if (at >= offset) page.push(takeOwn ? (a as { record: DownloadRecord }).record : b);
  }
  return {
    total: own.length + rows.total,
    records: page.flatMap((one) => ('state' in one ? one : (manager.store.get(one.gid) ?? []))),
  };
}

function sortValue(manager: Manager, record: DownloadRecord, sort: SortKey): SortValue {
  switch (sort) {
    case 'name':
      return record.name.toLowerCase();
    case 'size':
      return record.length;
    case 'progress':
      return progressShare(manager.running(record.gid)?.progress() ?? record);
    case 'speed':
      return manager.running(record.gid)?.progress().bytesPerSecond;
    case 'eta':
      return manager.running(record.gid)?.progress().etaMs;
    case 'status':
      return STATUS_ORDER.indexOf(record.state);
    case 'host':
      return record.host;
    case 'urgent':
      return urgency({ status: record.state, createdAt: record.createdAt });
    case 'added':
      return record.createdAt;
    default:
      return record.finishedAt;
  }
}

/** Compares two values; an unknown value comes last in both directions. */
function compare(a: SortValue, b: SortValue, way: 1 | -1): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return a < b ? -way : way;
}
