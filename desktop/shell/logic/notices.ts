/**
 * Chooses notifications for ended downloads. The first is shown at once; one more covers all ends
 * of the seconds after it, so that a finished queue does not show a dozen of them.
 */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import type { Words } from '../text/words.ts';

export type EndedDownload = Pick<DownloadView, 'gid' | 'name' | 'status' | 'finishedAt' | 'error'>;

interface Notice {
  readonly title: string;
  readonly body: string;
  /** The download that a click shows; undefined: the list. */
  readonly gid: string | undefined;
}

export interface NoticesState {
  /** Ends that have been announced or soon will be, oldest first. */
  readonly known: readonly string[];
  readonly pending: readonly EndedDownload[];
  /** End of the quiet time, Unix ms, during which ends are collected. */
  readonly quietUntil: number;
}

export interface NoticesStep {
  readonly state: NoticesState;
  readonly notices: readonly Notice[];
  /** Time, Unix ms, at which to call `afterQuiet`; undefined: never. */
  readonly deadline: number | undefined;
}

const QUIET_MS = 5000;
const MAX_KNOWN = 1000;
const MAX_PENDING = 1000;

export const NO_NOTICES: NoticesState = { known: [], pending: [], quietUntil: 0 };

/**
 * Takes in the downloads that have ended.
 *
 * @param changed downloads that have changed in some way
 * @param since Unix ms: downloads that ended before are not announced
 * @param now Unix ms
 */
export function withEnded(
  before: NoticesState,
  changed: readonly EndedDownload[],
  since: number,
  now: number,
  words: Words,
): NoticesStep {
  const known = new Set(before.known);
  const news = changed.filter((download) => {
    if (download.status !== 'complete' && download.status !== 'error') return false;
    // A failed download that was tried again may fail again: that is another end.
    const end = `${download.gid} ${download.finishedAt}`;
    if ((download.finishedAt ?? 0) < since || known.has(end)) return false;
    known.add(end);
    return true;
  });
  const state = {
    known: [...known].slice(-MAX_KNOWN),
    pending: [...before.pending, ...news].slice(-MAX_PENDING),
    quietUntil: before.quietUntil,
  };
  return afterQuiet(state, now, words);
}

/** Makes the notification for the collected ends, once the quiet time is over. */
export function afterQuiet(state: NoticesState, now: number, words: Words): NoticesStep {
  const { pending, quietUntil } = state;
  if (pending.length === 0) return { state, notices: [], deadline: undefined };
  if (now < quietUntil) return { state, notices: [], deadline: quietUntil };
  return {
    state: { ...state, pending: [], quietUntil: now + QUIET_MS },
    notices: [noticeOf(pending, words)],
    deadline: undefined,
  };
}

function noticeOf(ended: readonly EndedDownload[], words: Words): Notice {
  const [only] = ended;
  if (only !== undefined && ended.length === 1) {
    const { gid, name, status, error } = only;
    return status === 'complete'
      ? { title: words.t('completed'), body: name, gid }
      : { title: words.t('failed', { name }), body: error?.message ?? '', gid };
  }
  const complete = ended.filter(({ status }) => status === 'complete').length;
  const failed = ended.length - complete;
  const titles = [
    ...(complete > 0 ? [words.n('completed.many', complete)] : []),
    ...(failed > 0 ? [words.n('failed.many', failed)] : []),
  ];
  return { title: titles.join(', '), body: words.t('ended.text'), gid: undefined };
}

/**
 * Returns the notice that the machine is about to sleep or shut down, or why it did not.
 *
 * @param before what was told last; undefined: nothing was asked for
 */
export function whenDoneNotice(
  before: Totals['whenDone'],
  now: Totals['whenDone'],
  words: Words,
): Notice | undefined {
  if (now?.what && now.at !== undefined && now.at !== before?.at) {
    return { title: words.t(`then.${now.what}`), body: words.t('then.text'), gid: undefined };
  }
  if (now?.problem !== undefined && now.problem !== before?.problem) {
    return { title: words.t('then.failed'), body: now.problem, gid: undefined };
  }
  return undefined;
}
