/** Adds downloads to the list. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { Records } from '../queue/records.ts';
import { checkChoice } from '../settings/after-settings.ts';
import type { Settings } from '../settings/settings.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { NewDownload } from './download-schema.ts';
import { newRecord } from './new-download.ts';

export interface AdditionsOptions {
  readonly records: Records;
  readonly settings: Settings;
  /** Returns the download folder. */
  readonly dir: () => string;
  /** Returns the edges that `useEdges` stands for. */
  readonly edges: () => readonly string[];
  /** Returns the edge among `edges` that runs on this machine. */
  readonly localEdge: () => string | undefined;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

export class Additions {
  readonly #options: AdditionsOptions;

  constructor(options: AdditionsOptions) {
    this.#options = options;
  }

  /** Makes the record of a download without adding it. @throws MillraceError if it cannot be downloaded */
  draft(asked: NewDownload): DownloadRecord {
    const { records, settings, dir, edges, localEdge, now } = this.#options;
    const { categories, app } = settings;
    const { connections, sidecars } = app.defaults;
    const around = {
      gid: records.newGid(),
      dir: dir(),
      categories,
      edges: edges(),
      localEdge: localEdge(),
      defaults: { proxy: app.proxy ?? undefined, connections, sidecars },
      now: now(),
    };
    const record = newRecord(asked, around);
    if (record.options.after !== undefined) checkChoice(record.options.after, settings.after);
    if (!records.exists(record.gid)) return record;
    throw new MillraceError('bad-option', { code: 'gid-taken', values: { gid: record.gid } });
  }

  /**
   * Puts all of the downloads into the queue, or none.
   *
   * @param also makes changes that are stored together with them
   * @returns their gids
   * @throws MillraceError as `draft`; `queue-full`
   */
  enqueue(asked: readonly NewDownload[], also?: () => void): string[] {
    const { records } = this.#options;
    records.checkRoom(asked.length);
    const drafts = asked.map((one) => this.draft(one));
    const gids = new Set(drafts.map(({ gid }) => gid));
    if (gids.size < drafts.length) throw new MillraceError('bad-option', 'gid: two are the same');
    try {
      records.store.atOnce(() => {
        for (const [i, record] of drafts.entries()) records.enqueue(record, asked[i]?.position);
        also?.();
      });
    } catch (error) {
      for (const gid of gids) records.drop(gid);
      throw error;
    }
    for (const gid of gids) records.emit({ kind: 'changed', gid });
    return [...gids];
  }

  /**
   * Adds a finished download from another list to the history.
   *
   * @param isFollowed true for a description whose files are downloads of their own
   */
  addFinished(
    asked: NewDownload,
    ended: Partial<DownloadRecord>,
    isFollowed = false,
  ): DownloadRecord {
    const draft = this.draft(asked);
    const options = isFollowed ? { ...draft.options, follows: 'done' as const } : draft.options;
    const record = { ...draft, ...ended, options };
    this.#options.records.store.put({ ...record, storedBytes: record.length ?? 0 });
    return record;
  }
}
