/** A download's state in words, for the list and the details. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Tone } from '@millrace/shared/ui/row-signs';
import { clock, duration, hostOf, when } from '../../text/format.ts';
import type { Key, Text } from '../../text/text.ts';

const PHASES: ReadonlySet<string> = new Set([
  'starting',
  'running',
  'waiting-for-network',
  'waiting-for-server',
  'waiting-for-room',
  'checking',
]);

/** Returns the state in words. @param now Unix milliseconds */
export function stateWords(text: Text, row: DownloadView, now: number): string {
  switch (row.status) {
    case 'active': {
      const phase = PHASES.has(row.phase ?? '') ? row.phase : 'running';
      return text.t(`state.${phase}` as Key & `state.running`);
    }
    case 'queued':
      if (row.startAt !== undefined && row.startAt > now) {
        return text.t('state.queued.start', { time: when(text, row.startAt, now) });
      }
      if (row.held === 'host')
        return text.t('state.queued.host', { host: hostOf(row.urls[0] ?? '') });
      if (row.held === 'schedule') return text.t('state.queued.schedule');
      if (row.position === undefined) return text.t('state.queued');
      return text.t('state.queued.turn', { n: text.number(row.position + 1) });
    case 'waiting': {
      const left = (row.retryAt ?? now) - now;
      if (left <= 0) return text.t('state.waiting');
      return text.t('state.waiting.in', { time: duration(left) });
    }
    case 'complete':
      if (row.after?.some(({ state }) => state === 'failed' || state === 'interrupted')) {
        return text.t('state.complete.after');
      }
      if (row.finishedAt === undefined) return text.t('state.complete');
      return text.t('state.complete.when', { when: when(text, row.finishedAt, now) });
    default:
      return text.t(`state.${row.status}`);
  }
}

/** Returns one word, for where there is room for no more. */
export function stateWord(text: Text, row: DownloadView, now: number): string {
  if (row.status === 'queued' && row.position !== undefined) return `#${row.position + 1}`;
  if (row.status === 'waiting' && row.retryAt !== undefined)
    return clock(text, Math.max(now, row.retryAt));
  if (row.status === 'waiting') return text.t('state.queued');
  return text.t(`state.${row.status === 'active' ? 'running' : row.status}`);
}

export function toneOf({ status, phase }: DownloadView): Tone {
  if (status === 'active') return phase?.startsWith('waiting') ? 'queued' : 'active';
  if (status === 'complete') return 'done';
  if (status === 'error') return 'failed';
  return status === 'paused' || status === 'removed' ? 'paused' : 'queued';
}
