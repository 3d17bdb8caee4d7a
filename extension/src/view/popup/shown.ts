/** Texts and commands of a row of the list. */

import type { IconName } from '@millrace/shared/style/icon-paths';
import { errorWords } from '@millrace/shared/text/error-words';
import { bytes, duration, rate } from '@millrace/shared/text/figures';
import type { Tone } from '@millrace/shared/ui/row-signs';
import type { DownloadCommand, ShownDownload } from '../../contract/taker.ts';
import type { Text } from '../../text/text.ts';

const TONES: Readonly<Record<ShownDownload['status'], Tone>> = {
  active: 'active',
  queued: 'queued',
  waiting: 'queued',
  paused: 'paused',
  complete: 'done',
  error: 'failed',
};

export const toneOf = ({ status }: ShownDownload): Tone => TONES[status];

/** Returns a key that is unique among the downloads of all takers. */
export const keyOf = ({ taker, id }: Pick<ShownDownload, 'taker' | 'id'>): string =>
  `${taker}-${id}`;

/** Returns the stored share of a download, 0 to 1; undefined if the length is not known. */
export function shareOf({ storedBytes, length }: ShownDownload): number | undefined {
  if (length === undefined) return undefined;
  return length === 0 ? 1 : Math.min(1, storedBytes / length);
}

/** Heights of rows, pixels, as the style sheets have them. */
const PLAIN_PX = 54;
const WITH_BAR_PX = 66;
const FAILED_PX = 92;

export function heightOf(download: ShownDownload): number {
  if (download.status === 'error') return FAILED_PX;
  return hasBar(download) ? WITH_BAR_PX : PLAIN_PX;
}

/**
 * Returns whether to show a bar: an icon shows that a download is complete, and a download that has
 * not begun has no progress.
 */
export function hasBar({ status, storedBytes }: ShownDownload): boolean {
  if (status === 'complete' || status === 'error') return false;
  return status === 'active' || storedBytes > 0;
}

/** Returns the line below the name. */
export function aboutWords(text: Text, download: ShownDownload): string {
  const { status, length, storedBytes, bytesPerSecond, etaMs } = download;
  const parts: string[] = [];
  if (status !== 'active' || bytesPerSecond === 0) parts.push(text.t(`state.${status}`));
  if (status === 'active' && bytesPerSecond > 0) parts.push(rate(text, bytesPerSecond));
  if (status === 'active' && etaMs !== undefined) {
    parts.push(text.t('list.left', { time: duration(etaMs) }));
  }
  if (status === 'complete') parts.push(bytes(text, length ?? storedBytes));
  else if (length !== undefined && storedBytes > 0) {
    const [part, whole] = [bytes(text, storedBytes), bytes(text, length)];
    parts.push(text.t('list.of', { part, whole }));
  } else if (storedBytes > 0 || length !== undefined) {
    parts.push(bytes(text, length ?? storedBytes));
  }
  return parts.join(' · ');
}

/**
 * Returns the texts for a failure and its remedy, or the taker's own text if the code is not known
 * here.
 */
export function failureWords(text: Text, { error }: ShownDownload) {
  if (error === undefined) return { title: text.t('state.error'), help: '' };
  return errorWords(text.language, error);
}

/** Returns the commands for a download, the most likely first. */
export function commandsFor({ status, taker }: ShownDownload): readonly DownloadCommand[] {
  switch (status) {
    case 'complete':
      // The files of another machine cannot be opened here.
      if (taker === 'remote') return ['remove'];
      return ['open', 'show', 'remove'];
    case 'paused':
    case 'error':
      return ['resume', 'remove'];
    default:
      return ['pause', 'remove'];
  }
}

/** Returns whether removal deletes bytes that would have to be fetched again. */
export function losesBytes({ status, storedBytes }: ShownDownload): boolean {
  return status !== 'complete' && storedBytes > 0;
}

export const COMMAND_ICONS: Readonly<Record<DownloadCommand, IconName>> = {
  pause: 'paused',
  resume: 'resume',
  remove: 'remove',
  open: 'file',
  show: 'folder',
};

export function commandLabel(text: Text, command: DownloadCommand, download: ShownDownload) {
  if (command === 'resume' && download.status === 'error') return text.t('action.retry');
  return text.t(`action.${command}`);
}
