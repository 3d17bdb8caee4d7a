/** State of `millrace watch`: the downloads, kept up to date by notifications. */

import type { Millis } from '@millrace/shared/base/clock';
import { formatBytes, formatRate } from '@millrace/shared/base/units';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import { printable } from '../text/printable.ts';
import { downloadTable, summary, type TableOptions } from './download-table.ts';
import { isStopped, note, share } from './download-words.ts';

/** Sort order, as in the daemon's list: running, unfinished, finished. */
const ORDER: Readonly<Record<string, number>> = { active: 0, queued: 1, waiting: 1, paused: 2 };
const OVER = 3;
export const ID_CHARS = 6;

export class WatchModel {
  readonly #downloads = new Map<string, DownloadView>();
  readonly #only: ReadonlySet<string> | undefined;

  /** @param only the gids to watch; undefined: all */
  constructor(only?: readonly string[]) {
    this.#only = only === undefined ? undefined : new Set(only);
  }

  /** Returns the watched downloads in the order in which they are shown. */
  get downloads(): DownloadView[] {
    const place = ({ status }: DownloadView) => ORDER[status] ?? OVER;
    const newest = (d: DownloadView) => -(d.finishedAt ?? d.createdAt);
    return [...this.#downloads.values()].sort((a, b) => {
      if (place(a) !== place(b)) return place(a) - place(b);
      if (place(a) === OVER) return newest(a) - newest(b);
      return (a.position ?? 0) - (b.position ?? 0) || a.createdAt - b.createdAt;
    });
  }

  /** Returns true when no watched download will run again, unless the user resumes it. */
  get isOver(): boolean {
    return this.downloads.every((d) => isStopped(d) || d.status === 'paused');
  }

  /**
   * Applies the daemon's update of a download.
   *
   * @returns a line about the download if its state has changed, or undefined
   */
  apply(download: DownloadView, now: Millis): string | undefined {
    if (this.#only !== undefined && !this.#only.has(download.gid)) return undefined;
    const before = this.#downloads.get(download.gid);
    this.#downloads.set(download.gid, download);
    return before !== undefined && stateOf(before) === stateOf(download)
      ? undefined
      : changeLine(download, now);
  }

  /** Removes a download that has left the list. */
  forget(gid: string): void {
    this.#downloads.delete(gid);
  }

  name(gid: string): string | undefined {
    return this.#downloads.get(gid)?.name;
  }

  /**
   * Returns the lines for a terminal: a summary and a table.
   *
   * @param rows most lines that there is room for
   */
  frame(rows: number, limit: number | undefined, options: TableOptions): string[] {
    const downloads = this.downloads;
    // A summary, a head, and a line that counts the omitted rows.
    const room = Math.max(1, rows - 3);
    const shown = downloads.length <= room + 1 ? downloads : downloads.slice(0, room);
    const lines = [options.style('title', summary(downloads, limit))];
    if (shown.length > 0) lines.push(...downloadTable(shown, options));
    if (shown.length < downloads.length) {
      lines.push(options.style('quiet', `and ${downloads.length - shown.length} more`));
    }
    return lines;
  }
}

/** Returns a text that changes whenever the state of a download changes. */
function stateOf({ status, phase, error, held }: DownloadView): string {
  // Starting and running look the same to the user.
  const waits = phase?.startsWith('waiting') || phase === 'checking' ? phase : '';
  return [status, waits, error?.code ?? '', held ?? ''].join(' ');
}

/** Returns a line for a log: `a1b2c3 active file.iso: 42% of 3 GiB, 1 MiB/s, 0:30 left`. */
export function changeLine(d: DownloadView, now: Millis): string {
  const size = d.length === undefined ? '' : formatBytes(d.length);
  const done = share(d);
  const details = [
    done === '' || size === '' ? done + size : `${done} of ${size}`,
    d.status === 'active' && d.bytesPerSecond > 0 ? formatRate(d.bytesPerSecond) : '',
    d.status === 'complete' ? printable(d.path ?? '') : printable(note(d, now)),
  ].filter((text) => text !== '');
  const about = details.length === 0 ? '' : `: ${details.join(', ')}`;
  return `${d.gid.slice(0, ID_CHARS)} ${d.status} ${printable(d.name)}${about}`;
}
