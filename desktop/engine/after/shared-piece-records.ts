/** Records what has been found out about pieces that files share: in their logs, or by fetching parts again. */

import { relative } from 'node:path';
import { RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import { haveBegun } from '@millrace/shared/download/after/after';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import {
  afterLook,
  type Holder,
  rangeOfPart,
} from '@millrace/shared/download/torrent/shared-pieces';
import type { Records } from '../queue/records.ts';
import type { DownloadRecord } from '../store/record.ts';

/** Most names in an error. */
const MOST_NAMES = 3;

/** Parts of a file to fetch again, with the keys of their pieces. */
interface Again {
  readonly record: DownloadRecord;
  readonly keys: string[];
  readonly parts: SharedPiece[];
}

/** Pieces to fetch again, each with its files. */
export type WrongPieces = readonly { readonly key: string; readonly holders: readonly Holder[] }[];

export class SharedPieceRecords {
  readonly #records: Records;
  readonly #now: () => Millis;

  constructor(records: Records, now: () => Millis) {
    this.#records = records;
    this.#now = now;
  }

  /** Returns the record of a complete download. */
  find(gid: string): DownloadRecord | undefined {
    const record = this.#records.exists(gid) ? this.#records.get(gid) : undefined;
    return record?.state === 'complete' ? record : undefined;
  }

  /** Notes in the log of a complete file what has been found out about a piece. */
  say(gid: string, key: string, found: Parameters<typeof afterLook>[3]): void {
    const record = this.find(gid);
    if (record === undefined) return;
    const { shared = [], sharedSaid: said = [], sharedRight: right = [] } = record.options;
    const { known, told } = afterLook(shared, { said, right }, key, found);
    // The log comes first: a note that a crash doubles is better than one that it loses.
    for (const { note, bytes } of told) this.#note(gid, note, bytes);
    if (known.said.length === said.length && known.right.length === right.length) return;
    this.#records.changeFinished(record, {
      options: { ...record.options, sharedSaid: known.said, sharedRight: known.right },
    });
  }

  /** Notes in the log of a file that pieces are checked later. */
  sayWaits(gid: string, parts: readonly SharedPiece[]): void {
    this.#note(gid, 'shared-waits', new RangeSet(parts.map(rangeOfPart)).bytes);
  }

  /**
   * Ends the files of a wrong piece with an error.
   *
   * @param own record of the file whose completion is not recorded, if there is one
   */
  fail(holders: readonly Holder[], own: DownloadRecord | undefined): void {
    const of = (gid: string) => (gid === own?.gid ? own : this.find(gid));
    const names = holders.slice(0, MOST_NAMES).map(({ gid }) => of(gid)?.name);
    const detail = `a piece that these files share is wrong in at least one: ${names.join(', ')}`;
    const { code, message } = new MillraceError('wrong-digest', detail);
    for (const { gid, part } of holders) {
      const record = of(gid);
      if (record === undefined) continue;
      const error = { code, message, detail };
      const change = { error, request: requestAgain(record, [part]) };
      if (this.#records.find(gid) === undefined) {
        this.#records.changeFinished(record, { ...change, state: 'error' });
      } else this.#records.finish(gid, 'error', this.#now(), { ...record, ...change });
      this.#records.emit({ kind: 'failed', gid });
    }
  }

  /** Has the files of wrong pieces fetch their parts again. @param own as for `fail` */
  fetchAgain(wrong: WrongPieces, own: DownloadRecord | undefined): void {
    const again = new Map<string, Again>();
    for (const { key, holders } of wrong) {
      for (const { gid, part } of holders) {
        const record = gid === own?.gid ? own : this.find(gid);
        if (record === undefined) continue;
        const one = again.get(gid) ?? { record, keys: [], parts: [] };
        again.set(gid, one);
        one.keys.push(key);
        one.parts.push(part);
      }
    }
    for (const one of again.values()) {
      try {
        this.#fetchAgain(one);
      } catch (error) {
        // It stays complete and unchecked, and the next start checks it again.
        if (!isMillraceError(error, 'queue-full')) throw error;
      }
    }
  }

  /** @throws MillraceError `queue-full` */
  #fetchAgain({ record, keys, parts }: Again): void {
    const { gid, options } = record;
    const isOther = (key: string) => !keys.includes(key);
    const request = requestAgain(record, parts);
    const changed: DownloadRecord = {
      ...record,
      ...{ error: undefined, vouch: undefined, storedBytes: 0, request },
      host: new URL(request.urls[0] as string).host,
      options: {
        ...options,
        sharedAgain: [...(options.sharedAgain ?? []), ...keys],
        sharedSaid: (options.sharedSaid ?? []).filter(isOther),
        sharedRight: (options.sharedRight ?? []).filter(isOther),
      },
    };
    const { queue } = this.#records;
    const isFinished = queue.get(gid) === undefined;
    if (isFinished) this.#records.checkRoom(1);
    this.#note(gid, 'shared-wrong', new RangeSet(parts.map(rangeOfPart)).bytes);
    if (isFinished) {
      if (haveBegun(record.after)) {
        this.#records.emit({ kind: 'note', gid, ...noteOf('shared-acted') });
      }
      this.#records.reopen(changed);
      this.#records.emit({ kind: 'changed', gid });
      return;
    }
    // A file whose completion is not recorded goes straight back into the queue.
    queue.requeue(gid);
    queue.setHost(gid, changed.host);
    const after = haveBegun(record.after) ? record.after : undefined;
    this.#records.update(gid, { ...changed, after, state: 'queued', finishedAt: undefined });
  }

  #note(
    gid: string,
    note:
      | 'shared-right'
      | 'shared-unchecked'
      | 'shared-contradicts'
      | 'shared-waits'
      | 'shared-wrong',
    bytes: number,
  ): void {
    this.#records.emit({ kind: 'note', gid, ...noteOf(note, { bytes: formatBytes(bytes) }) });
  }
}

/** Makes the request that fetches parts of a complete file again, of the next source first. */
export function requestAgain(
  { request, path = '' }: Pick<DownloadRecord, 'request' | 'path'>,
  parts: readonly SharedPiece[],
): DownloadRecord['request'] {
  const [first, ...others] = request.urls;
  // Log-ins and fields are for the first URL's origin.
  const isBound = request.login !== undefined || Object.keys(request.headers).length > 0;
  return {
    ...request,
    urls: isBound ? request.urls : [...others, first as string],
    file: relative(request.dir, path),
    overwrite: true,
    held: undefined,
    older: { path, beside: false, repairs: true, except: parts.map(rangeOfPart) },
  };
}
