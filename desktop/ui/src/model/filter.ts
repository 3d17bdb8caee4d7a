/** The filters of the side bar, and their requests to the daemon. */

import type { DownloadStatus, DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { ListQuery, SortKey, Totals } from '@millrace/shared/bridge/rpc/list-api';

export const STATE_FILTERS = ['all', 'active', 'queued', 'done', 'failed'] as const;
export type StateFilter = (typeof STATE_FILTERS)[number];

const STATUSES: Readonly<Record<StateFilter, readonly DownloadStatus[] | undefined>> = {
  all: undefined,
  active: ['active'],
  queued: ['queued', 'waiting', 'paused'],
  done: ['complete'],
  failed: ['error'],
};

/** Downloads to show: of a state or a category, in an order, with words to look for. */
export interface View {
  readonly state: StateFilter;
  readonly category?: string | undefined;
  readonly text: string;
  readonly sort: SortKey;
  readonly descending: boolean;
}

export const FIRST_VIEW: View = { state: 'all', text: '', sort: 'queue', descending: false };

/** Orders that begin descending. */
const DESCENDING_FIRST: ReadonlySet<SortKey> = new Set(['size', 'speed', 'added', 'finished']);

export function queryOf({ state, category, text, sort, descending }: View): ListQuery {
  const status = STATUSES[state];
  return {
    ...(status === undefined ? {} : { status }),
    ...(category === undefined ? {} : { category }),
    ...(text.trim() === '' ? {} : { text: text.trim().slice(0, 1024) }),
    sort,
    ...(sort === 'queue' ? {} : { descending }),
  };
}

/** Returns true if a download still fits the view; only the daemon compares the words. */
export function isShown({ state, category }: View, row: DownloadView): boolean {
  const statuses = STATUSES[state];
  if (category !== undefined && row.category !== category) return false;
  return statuses === undefined || statuses.includes(row.status);
}

/** Returns true if another view shows other downloads, and not the same in another order. */
export function showsOthers(a: View, b: View): boolean {
  return a.state !== b.state || a.category !== b.category || a.text.trim() !== b.text.trim();
}

/** Changes the order; the same order, chosen again, is reversed. */
export function sortBy(view: View, sort: SortKey): View {
  if (sort === view.sort && sort !== 'queue') return { ...view, descending: !view.descending };
  return { ...view, sort, descending: DESCENDING_FIRST.has(sort) };
}

export function countOf(totals: Totals | undefined, state: StateFilter): number {
  if (totals === undefined) return 0;
  const statuses = STATUSES[state] ?? (Object.keys(totals.byStatus) as DownloadStatus[]);
  return statuses.reduce((sum, status) => sum + (totals.byStatus[status] ?? 0), 0);
}

/** Returns true where rows can be dragged: the list shows the queue as it is. */
export function canReorder({ sort, text }: View): boolean {
  return sort === 'queue' && text.trim() === '';
}
