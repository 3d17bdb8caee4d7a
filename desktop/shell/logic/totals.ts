/** Sums up all downloads, for tray and taskbar. */

import type { Totals as DaemonTotals } from '@millrace/shared/bridge/rpc/list-api';

export interface Totals {
  readonly active: number;
  /** Queued, or waiting for another try. */
  readonly waiting: number;
  readonly bytesPerSecond: number;
  /** Share of the running downloads that is done, 0 to 1; undefined while no length is known. */
  readonly share: number | undefined;
  /** Milliseconds until the running downloads are done, at the present speed. */
  readonly etaMs: number | undefined;
}

export const NOTHING: Totals = {
  active: 0,
  waiting: 0,
  bytesPerSecond: 0,
  share: undefined,
  etaMs: undefined,
};

/** Returns the sums, weighed by bytes; downloads of unknown length do not count in the share. */
export function totalsOf({ byStatus, bytesPerSecond, activeBytes }: DaemonTotals): Totals {
  const { length } = activeBytes;
  const stored = Math.min(activeBytes.stored, length);
  const known = byStatus.active > 0 && length > 0;
  return {
    active: byStatus.active,
    waiting: byStatus.queued + byStatus.waiting,
    bytesPerSecond,
    share: known ? stored / length : undefined,
    etaMs:
      known && bytesPerSecond > 0
        ? Math.round(((length - stored) / bytesPerSecond) * 1000)
        : undefined,
  };
}
