/** The daemon's view of its downloads, for the command line and the interface. */

import type { Particulars } from '../../base/error-table/particulars.ts';
import type { daemonInfo, downloadView, failure, vouch } from '../results/download-results.ts';
import type { Shape } from '../results/named.ts';
import type { DOWNLOAD_STATUSES } from '../results/values.ts';

export { DOWNLOAD_STATUSES } from '../results/values.ts';

/** queued: its turn has not come; waiting: will be tried again at `retryAt`. */
export type DownloadStatus = (typeof DOWNLOAD_STATUSES)[number];

export type DownloadFailure = Shape<typeof failure>;
export type Vouch = Shape<typeof vouch>;
export type DownloadView = Shape<typeof downloadView>;

/** The `data` of a JSON-RPC error that stands for an error of the table. */
export interface FailureData {
  readonly code: string;
  readonly detail: string;
  /** The detail as data, for other languages than English. */
  readonly particulars?: Particulars | undefined;
  readonly advice: string;
  readonly retryable: boolean;
  /** Exit status of the command line. */
  readonly exit: number;
}

export type DaemonInfo = Shape<typeof daemonInfo>;
