/**
 * Follows complete descriptions, torrents and Metalink documents, to the files that they describe. Each
 * step is stored before the next one begins, and the files are stored together with the step, so that
 * no description is forgotten or followed twice, whatever ends the daemon in between.
 */

import { readFile, rm, stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { noteOf, noteOfError } from '@millrace/shared/base/notes';
import { type Following, nextStep } from '@millrace/shared/download/after/follow';
import { MAX_DOCUMENT_BYTES } from '@millrace/shared/download/metalink/xml-tree';
import { fileError } from '../files/file-error.ts';
import type { Records } from '../queue/records.ts';
import type { DownloadRecord } from '../store/record.ts';

/**
 * Adds the files of a description that has been read.
 *
 * @param also makes changes that are stored together with the files
 * @returns their gids
 * @throws MillraceError if one of them cannot be added: none is
 */
type AddDescribed = (also: () => void) => readonly string[];

export interface DescriptionFollowerOptions {
  readonly records: Records;
  /** Resolves when the run of a complete download has released its file. */
  readonly settled: (gid: string) => Promise<void>;
  /** Waits for actions on files to end; see `AfterRunner.rest`. */
  readonly rest: (gids: readonly string[]) => Promise<() => void>;
  /** Reads a description. @throws MillraceError if it is bad */
  readonly read: (document: Buffer, record: DownloadRecord) => Promise<AddDescribed>;
}

export class DescriptionFollower {
  readonly #options: DescriptionFollowerOptions;
  readonly #pending = new Set<string>();
  #closed = false;

  constructor(options: DescriptionFollowerOptions) {
    this.#options = options;
    options.records.listen((event) => {
      if (event.kind === 'completed') this.#take(event.gid);
    });
  }

  /** Continues with the descriptions that the last daemon has not followed to the end. */
  start(): void {
    for (const gid of this.#options.records.store.followingOpen()) this.#take(gid);
  }

  /** Lets no further step begin; the next start continues. */
  close(): void {
    this.#closed = true;
  }

  #take(gid: string): void {
    const step = this.#find(gid)?.options.follows;
    if (step === undefined || step === 'done' || this.#pending.has(gid)) return;
    this.#pending.add(gid);
    void this.#work(gid)
      // The daemon ends, or the download was removed.
      .catch(() => {})
      .finally(() => this.#pending.delete(gid));
  }

  /** Follows a description, while no action moves or changes its file. */
  async #work(gid: string): Promise<void> {
    const resting = this.#options.rest([gid]);
    try {
      await nextTurn();
      await this.#options.settled(gid);
      await resting;
      await this.#follow(gid);
      await this.#remove(gid);
    } finally {
      (await resting)();
    }
  }

  async #follow(gid: string): Promise<void> {
    const record = this.#find(gid);
    const step = record?.options.follows;
    if (record === undefined || (step !== 'keep' && step !== 'mem')) return;
    const { records } = this.#options;
    try {
      // A daemon that could not store the step, as on a full disk, may have stored the files.
      if (records.store.followedBy(gid).length === 0) {
        const add = await this.#options.read(await documentOf(record), record);
        if (this.#find(gid) === undefined) return;
        const gids = add(() => this.#keep(gid, nextStep(step, true)));
        this.#say(gid, gids, record.name);
      } else this.#keep(gid, nextStep(step, true));
    } catch (error) {
      if (this.#find(gid) === undefined) return;
      this.#options.records.emit({
        ...{ kind: 'note', gid },
        ...noteOfError('not-followed', asMillraceError(error)),
      });
      this.#keep(gid, nextStep(step, false));
    }
  }

  /** Deletes the file of a description that is not to be kept. */
  async #remove(gid: string): Promise<void> {
    const record = this.#find(gid);
    if (record?.options.follows !== 'remove') return;
    const { path } = record;
    if (path !== undefined) {
      const found = await stat(path).catch(() => undefined);
      // A crash may be long ago: a file of another length is the user's own.
      if (found?.isFile() === true && found.size === record.length) await rm(path, { force: true });
    }
    this.#keep(gid, 'done', true);
  }

  #keep(gid: string, follows: Following, isGone = false): void {
    const record = this.#find(gid);
    if (record === undefined) return;
    this.#options.records.changeFinished(record, {
      options: { ...record.options, follows },
      ...(isGone ? { path: undefined } : {}),
    });
  }

  #say(gid: string, gids: readonly string[], name: string): void {
    const { records } = this.#options;
    records.emit({ kind: 'note', gid, ...noteOf('followed', { n: gids.length }) });
    for (const each of gids) {
      records.emit({ kind: 'note', gid: each, ...noteOf('described-by', { name }) });
    }
  }

  /** Returns the record of a complete download; undefined also once the daemon ends. */
  #find(gid: string): DownloadRecord | undefined {
    const { records } = this.#options;
    if (this.#closed || !records.exists(gid)) return undefined;
    const record = records.get(gid);
    return record.state === 'complete' ? record : undefined;
  }
}

/** Reads the file of a complete download. @throws MillraceError if it is too large, or cannot be read */
async function documentOf({ path = '' }: DownloadRecord): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_DOCUMENT_BYTES) return await readFile(path);
  } catch (cause) {
    throw fileError(cause, path);
  }
  throw new MillraceError('bad-metalink', `it has more than ${MAX_DOCUMENT_BYTES} bytes`);
}
