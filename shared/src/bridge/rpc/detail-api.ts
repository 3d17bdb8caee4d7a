/** One download in detail: its map of blocks, sources, speed, log and digests. */

import type {
  blockMap,
  digestView,
  downloadDetail,
  logEntry,
  sourceStatus,
  sourceView,
  speedHistory,
} from '../results/detail-results.ts';
import type { Shape } from '../results/named.ts';

export { LOG_EVENTS } from '../results/values.ts';

export const MAX_CELLS = 2048;

export type BlockMap = Shape<typeof blockMap>;
/** A source, as the engine reports it. */
export type SourceStatus = Shape<typeof sourceStatus>;
export type SourceView = Shape<typeof sourceView>;
export type SpeedHistory = Shape<typeof speedHistory>;
export type LogEntry = Shape<typeof logEntry>;
export type DigestView = Shape<typeof digestView>;
export type DownloadDetail = Shape<typeof downloadDetail>;
