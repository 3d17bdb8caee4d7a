/**
 * Checks pieces of torrents that several files have in common, once all of these are complete. Files of a
 * wrong piece are fetched again there; if that does not help, none of them counts as right.
 */

import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { RangeSet } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { type NoteCode, noteOf } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import {
  afterWrong,
  coverOf,
  type Holder,
  rangeOfPart,
  type Stretch,
} from '@millrace/shared/download/torrent/shared-pieces';
import { openPlain } from '../files/open-plain.ts';
import { type Records, targetOf } from '../queue/records.ts';
import { type DownloadRecord, isFinished } from '../store/record.ts';

export interface SharedPieceCheckOptions {
  readonly records: Records;
  /** Resolves when the run of a complete download has released its file. */
  readonly settled: (gid: string) => Promise<void>;
  /** Starts what is in the queue. */
  readonly tick: () => void;
}

/** Most files that share a piece; a piece of more files stays unchecked. */
const MOST_HOLDERS = 4096;
const READ_BYTES = 1024 * 1024;
/** Most names in an error. */
const MOST_NAMES = 3;

/** A piece that is complete and wrong. */
interface Wrong {
  readonly key: string;
  readonly holders: readonly Holder[];
}

export class SharedPieceCheck {
  readonly #options: SharedPieceCheckOptions;
  /** Checks run one at a time, because each may reopen the files of the next one. */
  #last: Promise<void> = Promise.resolve();
  readonly #pending = new Map<string, Promise<void>>();
  #closed = false;

  constructor(options: SharedPieceCheckOptions) {
    this.#options = options;
    options.records.listen((event) => {
      if (event.kind === 'completed') this.#take(event.gid);
    });
  }

  /** Continues with the files that were complete when the last daemon ended, and were not checked. */
  start(): void {
    for (const gid of this.#options.records.store.sharedOpen()) this.#take(gid);
  }

  /** Resolves when the check of a complete download has ended. */
  async checked(gid: string): Promise<void> {
    await this.#pending.get(gid);
  }

  /** Ends the check under way; the next start begins it again. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }

  #take(gid: string): void {
    if ((this.#find(gid)?.options.shared ?? []).length === 0) return;
    const work = this.#last.then(async () => {
      // A file that cannot be read, or a download that was removed, stays unchecked.
      if (!this.#closed) await this.#check(gid).catch(() => {});
      if (this.#pending.get(gid) === work) this.#pending.delete(gid);
    });
    this.#last = work;
    this.#pending.set(gid, work);
  }

  async #check(gid: string): Promise<void> {
    await this.#options.settled(gid);
    const wrong: Wrong[] = [];
    for (const piece of this.#find(gid)?.options.shared ?? []) {
      const own = this.#find(gid);
      if (own === undefined || this.#closed) return;
      const cover = coverOf(this.#holders(piece.key, own));
      if (cover.kind === 'waits') continue;
      const stretches = cover.kind === 'whole' ? cover.stretches : [];
      const digest = cover.kind === 'whole' ? await this.#digestOf(stretches) : undefined;
      const holders = stretches.flatMap((one) => ('holder' in one ? [one.holder] : []));
      // Nothing is decided about files that have changed, or are fetched again, meanwhile.
      const isStill = holders.every((one) => this.#find(one.gid) !== undefined);
      if (digest === undefined || !isStill) this.#say(gid, piece.key, 'shared-unchecked');
      else if (digest !== piece.hex) wrong.push({ key: piece.key, holders });
      else for (const one of holders) this.#say(one.gid, piece.key, 'shared-right');
    }
    if (wrong.length > 0) this.#options.records.store.atOnce(() => this.#onWrong(wrong));
    this.#options.tick();
  }

  /** Lists the files that share a piece with a download, and were added to the same folder. */
  #holders(key: string, own: DownloadRecord): Holder[] {
    const { records } = this.#options;
    const gids = records.store.withShared(key, MOST_HOLDERS);
    const found = [own.gid, ...gids.filter((gid) => gid !== own.gid)].flatMap((gid) => {
      const record = records.exists(gid) ? records.get(gid) : undefined;
      const isWith = record?.options.sharedIn === own.options.sharedIn;
      return record === undefined || !isWith ? [] : [holderOf(record, key) ?? []].flat();
    });
    // Of several downloads of one file, those that are complete count first, then the newest.
    return [...found.slice(0, 1), ...found.slice(1).sort((a, b) => rankOf(a) - rankOf(b))];
  }

  /** Computes the digest of a piece. @returns undefined if a file is not as its download has left it */
  async #digestOf(stretches: readonly Stretch[]): Promise<string | undefined> {
    const hash = createHash('sha1');
    const buffer = Buffer.alloc(READ_BYTES);
    for (const stretch of stretches) {
      if ('holder' in stretch) {
        const { gid, part } = stretch.holder;
        const record = this.#find(gid);
        if (record === undefined || !(await readPart(record, part, hash, buffer))) return undefined;
        continue;
      }
      buffer.fill(0);
      for (let left = stretch.zeros; left > 0; left -= READ_BYTES) {
        hash.update(buffer.subarray(0, Math.min(left, READ_BYTES)));
      }
    }
    return hash.digest('hex');
  }

  /** Has the files of wrong pieces fetched again, or does not let them count as right any more. */
  #onWrong(wrong: readonly Wrong[]): void {
    const again = new Map<string, { keys: string[]; parts: SharedPiece[] }>();
    for (const { key, holders } of wrong) {
      const step = afterWrong(holders);
      if (step.kind === 'contradicts') {
        for (const { gid } of holders) this.#say(gid, key, 'shared-contradicts');
        continue;
      }
      if (step.kind === 'fail') {
        const names = step.holders.slice(0, MOST_NAMES).map(({ gid }) => this.#find(gid)?.name);
        const detail = `a piece that these files share is wrong in at least one: ${names.join(', ')}`;
        for (const { gid, part } of step.holders) this.#fail(gid, part, detail);
        continue;
      }
      for (const { gid, part } of step.holders) {
        const one = again.get(gid) ?? { keys: [], parts: [] };
        again.set(gid, { keys: [...one.keys, key], parts: [...one.parts, part] });
      }
    }
    for (const [gid, { keys, parts }] of again) this.#fetchAgain(gid, keys, parts);
  }

  #fail(gid: string, part: SharedPiece, detail: string): void {
    const record = this.#find(gid);
    if (record === undefined) return;
    const { code, message } = new MillraceError('wrong-digest', detail);
    this.#options.records.changeFinished(record, {
      state: 'error',
      error: { code, message, detail },
      request: requestAgain(record, [part]),
    });
    this.#options.records.emit({ kind: 'failed', gid });
  }

  #fetchAgain(gid: string, keys: readonly string[], parts: readonly SharedPiece[]): void {
    const record = this.#find(gid);
    if (record === undefined) return;
    const { options } = record;
    const bytes = new RangeSet(parts.map(rangeOfPart)).bytes;
    const request = requestAgain(record, parts);
    this.#options.records.reopen({
      ...record,
      ...{ error: undefined, vouch: undefined, storedBytes: 0, request },
      host: new URL(request.urls[0] as string).host,
      options: {
        ...options,
        sharedAgain: [...(options.sharedAgain ?? []), ...keys],
        sharedSaid: (options.sharedSaid ?? []).filter((key) => !keys.includes(key)),
      },
    });
    const note = noteOf('shared-wrong', { bytes: formatBytes(bytes) });
    this.#options.records.emit({ kind: 'note', gid, ...note });
    this.#options.records.emit({ kind: 'changed', gid });
  }

  /** Notes in the log of a download what is known of a piece, once. */
  #say(gid: string, key: string, code: Extract<NoteCode, `shared-${string}`>): void {
    const record = this.#find(gid);
    const part = record?.options.shared?.find((one) => one.key === key);
    if (record === undefined || part === undefined) return;
    const said = record.options.sharedSaid ?? [];
    const options = { ...record.options, sharedSaid: [...new Set([...said, key])] };
    this.#options.records.changeFinished(record, { options });
    const note = noteOf(code, { bytes: formatBytes(part.end - part.start) });
    this.#options.records.emit({ kind: 'note', gid, ...note });
  }

  /** Returns the record of a complete download. */
  #find(gid: string): DownloadRecord | undefined {
    const { records } = this.#options;
    const record = records.exists(gid) ? records.get(gid) : undefined;
    return record?.state === 'complete' ? record : undefined;
  }
}

function holderOf(record: DownloadRecord, key: string): Holder | undefined {
  const { gid, state, options, request, digest, vouch } = record;
  const part = options.shared?.find((one) => one.key === key);
  if (part === undefined) return undefined;
  const isComplete = state === 'complete' && record.path === targetOf(record);
  return {
    ...{ gid, part, sources: request.urls.length },
    state: isComplete ? 'complete' : isFinished(state) ? 'failed' : 'coming',
    isProven: digest !== undefined || vouch !== undefined,
    again: (options.sharedAgain ?? []).filter((one) => one === key).length,
  };
}

const RANKS = ['complete', 'coming', 'failed'] as const;
const rankOf = ({ state }: Holder): number => RANKS.indexOf(state);

/**
 * Reads the part of a file in a piece.
 *
 * @returns false if the file is not as its download has left it
 * @throws errors of the disk
 */
async function readPart(
  { path, length, finishedAt }: DownloadRecord,
  { start, end }: SharedPiece,
  hash: { update(bytes: Uint8Array): unknown },
  buffer: Buffer,
): Promise<boolean> {
  const file = await openPlain(path as string);
  try {
    const isAsLeft = async () => {
      const { size, mtimeMs } = await file.stat();
      return size === length && Math.floor(mtimeMs) <= (finishedAt as Millis);
    };
    if (!(await isAsLeft())) return false;
    for (let at = start; at < end; ) {
      const most = Math.min(buffer.length, end - at);
      const { bytesRead } = await file.read(buffer, 0, most, at);
      if (bytesRead === 0) return false;
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    return await isAsLeft();
  } finally {
    await file.close();
  }
}

/** Makes the request that fetches parts of a complete file again, of the next source first. */
function requestAgain(
  record: DownloadRecord,
  parts: readonly SharedPiece[],
): DownloadRecord['request'] {
  const { request } = record;
  const path = record.path as string;
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
