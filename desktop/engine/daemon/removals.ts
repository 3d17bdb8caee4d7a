/**
 * Removals that can still be undone: files are deleted when the time for that is over. What is to be
 * deleted is written down, so that a crash leaves nothing behind.
 */

import { randomBytes } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { z } from 'zod';
import type { DownloadRecord } from '../store/record.ts';
import type { SettingStore } from '../store/small-stores.ts';
import type { Left } from './contract.ts';

/** Something on disk that is to go. */
const leftoverSchema = z.object({
  path: z.string(),
  kind: z.enum(['partial', 'file']),
  /** URLs of a partial file: one of any other stays. */
  onlyOf: z.array(z.string()).optional(),
  /** Which file it was: another one of that name is not deleted. */
  ino: z.number().optional(),
  mtimeMs: z.number().optional(),
});
export type Leftover = z.infer<typeof leftoverSchema>;

export interface Removed {
  /** As it was. */
  readonly record: DownloadRecord;
  readonly leftover: Leftover | undefined;
  /** When its run has ended: what that has left. */
  readonly stopped: Promise<Left>;
}

export interface RemovalsOptions {
  readonly store: SettingStore;
  /** True if an unfinished download writes to the path, other than the one that is named. */
  readonly isTaken: (path: string, by: string) => boolean;
  readonly removePartial: (path: string, onlyOf?: readonly string[]) => Promise<void>;
}

interface Pending {
  readonly removed: readonly Removed[];
  readonly timer: NodeJS.Timeout;
}

const SETTING = 'removals';
/** Removals that can be undone at a time; older ones are done with. */
const MAX_PENDING = 50;

export class Removals {
  readonly #o: RemovalsOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #working = new Set<Promise<void>>();

  constructor(options: RemovalsOptions) {
    this.#o = options;
  }

  /** Deletes what a run that crashed had still to delete. */
  start(): void {
    const left = z.array(leftoverSchema).safeParse(this.#o.store.get(SETTING));
    for (const leftover of left.success ? left.data : []) {
      void this.work(this.#delete(leftover, ''));
    }
    this.#keep();
  }

  /** @param undoMs more than 0 @returns what `undo` takes */
  add(removed: readonly Removed[], undoMs: number): string {
    const id = randomBytes(9).toString('base64url');
    const timer = setTimeout(() => this.#finish(id), undoMs);
    this.#pending.set(id, { removed, timer });
    for (const old of this.#pending.keys()) {
      if (this.#pending.size <= MAX_PENDING) break;
      this.#finish(old);
    }
    this.#keep();
    return id;
  }

  /** Deletes at once. @returns when that is done */
  async deleteNow(removed: readonly Removed[]): Promise<void> {
    await Promise.all(removed.map((one) => this.work(this.#deleteOne(one))));
  }

  /** @returns what was removed; undefined if it is too late */
  undo(id: string): readonly Removed[] | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    this.#keep();
    return pending.removed;
  }

  /** Nothing can be undone any more. */
  async close(): Promise<void> {
    for (const id of [...this.#pending.keys()]) this.#finish(id);
    await Promise.all(this.#working);
  }

  /**
   * Deletes what was to go of a download whose run has ended, unless another goes on with it.
   *
   * @param by whose it was
   */
  async delete(leftover: Leftover, left: Left, by = ''): Promise<void> {
    await this.#delete(await whatIsLeft(leftover, left), by);
  }

  /** Takes care of something in the background; closing waits for it. */
  work(work: Promise<unknown>): Promise<void> {
    const kept = work
      .then(() => {})
      .catch(() => {
        // What cannot be deleted is no reason to end the daemon.
      })
      .finally(() => this.#working.delete(kept));
    this.#working.add(kept);
    return kept;
  }

  #finish(id: string): void {
    const removed = this.undo(id);
    if (removed !== undefined) void this.deleteNow(removed);
  }

  async #deleteOne({ leftover, stopped }: Removed): Promise<void> {
    const left = await stopped;
    if (leftover !== undefined) await this.delete(leftover, left);
  }

  async #delete(leftover: Leftover, by: string): Promise<void> {
    const { path, kind, onlyOf } = leftover;
    // Added again meanwhile: what is there is wanted.
    if (this.#o.isTaken(path, by)) return;
    if (kind === 'partial') return this.#o.removePartial(path, onlyOf);
    if (isSame(leftover, await identityOf(path))) await rm(path, { force: true });
  }

  #keep(): void {
    const all = [...this.#pending.values()].flatMap(({ removed }) =>
      removed.flatMap(({ leftover }) => leftover ?? []),
    );
    this.#o.store.set(SETTING, all);
  }
}

/** What is to go, now that the run has ended. */
async function whatIsLeft(leftover: Leftover, left: Left): Promise<Leftover> {
  const { path, complete } = left;
  if (complete !== undefined) {
    return { path: complete.path, kind: 'file', ...(await identityOf(complete.path)) };
  }
  const isGuess = leftover.onlyOf !== undefined && path !== undefined;
  return isGuess ? { path, kind: 'partial' } : leftover;
}

/** Which file it is that is there now. */
export async function identityOf(path: string): Promise<Pick<Leftover, 'ino' | 'mtimeMs'>> {
  try {
    const { ino, mtimeMs } = await stat(path);
    return { ino, mtimeMs };
  } catch {
    return {};
  }
}

function isSame(a: Pick<Leftover, 'ino' | 'mtimeMs'>, b: Pick<Leftover, 'ino' | 'mtimeMs'>) {
  return a.ino !== undefined && a.ino === b.ino && a.mtimeMs === b.mtimeMs;
}
