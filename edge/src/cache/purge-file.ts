/**
 * The purges on disk, beside the cache that they concern: one checked line each, synced before a
 * purge is reported as done. The file names its era, the random name of a sequence of generations,
 * which every record of the cache repeats: records of a cache whose purges are lost are void.
 */

import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Log } from '@millrace/shared/base/log';
import type { Purge } from '@millrace/shared/cdn/upkeep/generations';
import type { Dropped, LoggedPurge } from '@millrace/shared/cdn/upkeep/purge-log';
import { syncFolder } from '@millrace/shared/node/files/replace-file';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { DROPPED, LOGGED, TARGET } from './commands.ts';

/** A line of the file. */
export type PurgeLine =
  | { readonly type: 'era'; readonly era: string; readonly current: number }
  | { readonly type: 'purge'; readonly purge: Purge }
  | { readonly type: 'logged'; readonly purge: LoggedPurge }
  | { readonly type: 'dropped'; readonly dropped: Dropped };

const LINE = z.discriminatedUnion('type', [
  z.object({ type: z.literal('era'), era: z.uuid(), current: z.int().min(0) }),
  z.object({
    type: z.literal('purge'),
    purge: z.object({ target: TARGET, id: z.string().max(100), generation: z.int().min(1) }),
  }),
  z.object({ type: z.literal('logged'), purge: LOGGED }),
  z.object({ type: z.literal('dropped'), dropped: DROPPED }),
]);

const NAME = 'purges.log';
/**
 * Most lines that are added before the file is rewritten, besides as many as it had after the last
 * rewrite.
 */
const MIN_ADDED_LINES = 10_000;

export class PurgeFile {
  readonly #dir: string;
  readonly #log: Log;
  /** All lines that belong in the file now. */
  readonly #whole: () => PurgeLine[];
  #file: FileHandle | undefined;
  #lines = 0;
  #added = 0;
  #turn: Promise<void> = Promise.resolve();

  /** @param whole gives all lines that belong in the file now */
  constructor(dir: string, log: Log, whole: () => PurgeLine[]) {
    this.#dir = dir;
    this.#log = log;
    this.#whole = whole;
  }

  /**
   * Reads the purges that an earlier run has left, the line with its era first; only a new era if
   * the file is missing or damaged.
   */
  async read(): Promise<PurgeLine[]> {
    const text = await readFile(join(this.#dir, NAME), 'utf8').catch(() => '');
    const lines = readPurgeLines(text);
    if (lines === undefined) {
      this.#log.warn({ dir: this.#dir }, 'the list of purges is damaged: the cache starts empty');
      return [newEra()];
    }
    return lines.length === 0 ? [newEra()] : lines;
  }

  /**
   * Adds lines. Resolves when they are synced to the disk or, if they cannot be written, when the
   * file is deleted, so that the next run does not use the cache on disk.
   *
   * @throws if the file cannot be deleted either
   */
  add(lines: readonly PurgeLine[]): Promise<void> {
    const done = this.#turn.then(() => this.#add(lines));
    this.#turn = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#file?.close();
    this.#file = undefined;
  }

  async #add(lines: readonly PurgeLine[]): Promise<void> {
    try {
      if (this.#file === undefined || this.#added > this.#lines + MIN_ADDED_LINES) {
        return await this.#rewrite();
      }
      await this.#file.appendFile(formatPurgeLines(lines));
      await this.#file.datasync();
      this.#added += lines.length;
    } catch (error) {
      this.#log.error({ err: error, dir: this.#dir }, 'a purge cannot be written down');
      // Better no cache after a restart than one with purged entries.
      await this.#file?.close().catch(() => {});
      this.#file = undefined;
      await rm(join(this.#dir, NAME), { force: true });
    }
  }

  /** Rewrites the file as a whole, so that it does not grow for ever. */
  async #rewrite(): Promise<void> {
    const lines = this.#whole();
    await mkdir(join(this.#dir, 'tmp'), { recursive: true });
    const aside = join(this.#dir, 'tmp', randomUUID());
    const file = await open(aside, 'wx');
    try {
      await file.appendFile(formatPurgeLines(lines));
      await file.datasync();
      await rename(aside, join(this.#dir, NAME));
      await syncFolder(this.#dir);
    } catch (error) {
      await file.close().catch(() => {});
      await rm(aside, { force: true }).catch(() => {});
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#lines = lines.length;
    this.#added = 0;
  }
}

function newEra(): PurgeLine {
  return { type: 'era', era: randomUUID(), current: 0 };
}

/** Lines as they are in the file, each with its checksum before it. */
export function formatPurgeLines(lines: readonly PurgeLine[]): string {
  return lines
    .map((line) => JSON.stringify(line))
    .map((json) => `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`)
    .join('');
}

/**
 * Reads the text of a file. A line without its end was being written when the process died: its
 * purge was never reported as done, and it is left out.
 *
 * @returns the line with the era first; undefined if any line is damaged
 */
export function readPurgeLines(text: string): PurgeLine[] | undefined {
  const complete = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  const lines: PurgeLine[] = [];
  for (const line of complete) {
    const read = readLine(line);
    if (read === undefined || (read.type === 'era') !== (lines.length === 0)) return undefined;
    lines.push(read);
  }
  return lines;
}

function readLine(line: string): PurgeLine | undefined {
  const json = line.slice(9);
  if (`${crc32(json).toString(16).padStart(8, '0')} ` !== line.slice(0, 9)) return undefined;
  try {
    return readOrThrow(LINE, JSON.parse(json));
  } catch {
    return undefined;
  }
}
