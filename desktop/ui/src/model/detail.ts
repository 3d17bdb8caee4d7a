/** Keeps the details of one download up to date. */

import type { DownloadDetail, SpeedHistory } from '@millrace/shared/bridge/rpc/detail-api';
import type { DetailPatch } from '@millrace/shared/bridge/rpc/live-api';

const MAX_SAMPLES = 600;
const MAX_LOG = 200;

/**
 * Returns the detail with the changes of a patch; unchanged if the patch belongs to another
 * download.
 */
export function patchDetail(
  detail: DownloadDetail | undefined,
  { newLog, newSpeed, ...members }: DetailPatch,
): DownloadDetail | undefined {
  if (detail === undefined || detail.gid !== members.gid) return detail;
  const known = detail.log[detail.log.length - 1]?.seq ?? -1;
  const added = (newLog ?? []).filter(({ seq }) => seq > known);
  return {
    ...detail,
    ...members,
    log: added.length === 0 ? detail.log : [...detail.log, ...added].slice(-MAX_LOG),
    speed: newSpeed === undefined ? detail.speed : appendSpeed(detail.speed, newSpeed),
  };
}

/** Appends the new samples; a sample in both histories is taken once. */
export function appendSpeed(before: SpeedHistory, after: SpeedHistory): SpeedHistory {
  if (after.bytesPerSecond.length === 0) return before;
  const { endsAt, stepMs } = after;
  const ahead = Math.round((endsAt - before.endsAt) / stepMs);
  const fresh = before.bytesPerSecond.length === 0 ? after.bytesPerSecond.length : ahead;
  if (fresh <= 0) return before;
  const taken = after.bytesPerSecond.slice(-fresh);
  // Seconds without a sample were idle.
  const gap = Array.from({ length: Math.min(MAX_SAMPLES, fresh - taken.length) }, () => 0);
  const all = [...before.bytesPerSecond, ...gap, ...taken].slice(-MAX_SAMPLES);
  return { endsAt, stepMs, bytesPerSecond: all };
}
