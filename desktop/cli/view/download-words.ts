/** A download in words. */

import type { Millis } from '@millrace/shared/base/clock';
import { formatDuration } from '@millrace/shared/base/units';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Meaning } from '../text/style.ts';

const MIN_ID_CHARS = 6;

/** Returns true for downloads that will not run again by themselves. */
export function isStopped({ status }: DownloadView): boolean {
  return status === 'complete' || status === 'error' || status === 'removed';
}

/** Returns the meaning of a state for the reader. */
export function meaningOf({ status, phase }: DownloadView): Meaning {
  if (status === 'complete') return 'good';
  if (status === 'error') return 'bad';
  if (status === 'removed') return 'quiet';
  if (status !== 'active') return status === 'queued' ? 'plain' : 'held';
  return phase?.startsWith('waiting') ? 'held' : 'busy';
}

/** Returns the stored share of the file, such as `42%`; an empty text where it is not known. */
export function share({ length, storedBytes, status }: DownloadView): string {
  if (status === 'complete') return '100%';
  if (length === undefined) return '';
  return `${length === 0 ? 100 : Math.min(100, Math.floor((storedBytes / length) * 100))}%`;
}

const PHASES: Readonly<Record<string, string>> = {
  starting: 'starting',
  'waiting-for-network': 'waiting for the network',
  'waiting-for-server': 'waiting for the server',
  'waiting-for-room': 'waiting for room on the disk',
  checking: 'checking',
};
const HELD: Readonly<Record<string, string>> = {
  host: 'its host is busy',
  schedule: 'the schedule says to wait',
};

/** Returns words beyond state and figures: time left, the reason of a wait, the failure. */
export function note(d: DownloadView, now: Millis): string {
  switch (d.status) {
    case 'active': {
      const phase = PHASES[d.phase ?? ''];
      if (phase !== undefined) return phase;
      return d.etaMs === undefined ? '' : `${formatDuration(d.etaMs)} left`;
    }
    case 'queued':
      return HELD[d.held ?? ''] ?? (d.position === undefined ? '' : `number ${d.position + 1}`);
    case 'waiting': {
      const again =
        d.retryAt === undefined ? '' : `again in ${formatDuration(Math.max(0, d.retryAt - now))}`;
      return [d.error?.message ?? '', again].filter((text) => text !== '').join(', ');
    }
    case 'error':
      // A file that is not there is more often a wrong link than one that has expired.
      return d.expiredLink && d.error?.code !== 'origin-not-found'
        ? `needs a new link: ${d.error?.message ?? ''}`
        : (d.error?.message ?? '');
    case 'complete':
      return d.finishedAt === undefined ? '' : ago(now - d.finishedAt);
    default:
      return '';
  }
}

/** Returns a span of time roughly, as `3 h ago`. */
export function ago(ms: Millis): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${Math.floor(minutes / 1440)} days ago`;
}

/** Returns the shortest length, 6 digits at least, at which the beginnings of some ids differ. */
export function shortIdChars(ids: readonly string[]): number {
  const sorted = [...ids].sort();
  let chars = MIN_ID_CHARS;
  for (let i = 1; i < sorted.length; i++) {
    const [a, b] = [sorted[i - 1] as string, sorted[i] as string];
    while (a !== b && chars < b.length && a.slice(0, chars) === b.slice(0, chars)) chars++;
  }
  return chars;
}
