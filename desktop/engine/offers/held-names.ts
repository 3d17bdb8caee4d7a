/**
 * Names held for downloads that browsers handed over. A name is recorded before it is held, and
 * released as soon as its download has ended, has moved elsewhere, or was never added, even if the
 * daemon was killed in between.
 */

import { existsSync } from 'node:fs';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import type { Manager } from '../downloads/manager.ts';
import { ASIDE_SUFFIX, holdName, releaseName } from '../files/held-name.ts';
import { DATA_SUFFIX, JOURNAL_SUFFIX } from '../files/partial-names.ts';
import { targetOf } from '../queue/records.ts';
import type { SettingStore } from '../store/small-stores.ts';

const SETTING = 'held-names';
const heldSchema = z.array(z.object({ path: z.string(), token: z.string() }));

type Held = z.infer<typeof heldSchema>[number];

export class HeldNames {
  readonly #manager: Manager;
  readonly #store: SettingStore;
  readonly #unlisten: () => void;
  #held: readonly Held[];
  #sweeping: Promise<void> | undefined;
  #again = false;

  constructor(manager: Manager, store: SettingStore) {
    this.#manager = manager;
    this.#store = store;
    this.#held = tryRead(heldSchema, store.get(SETTING)).data ?? [];
    this.#unlisten = manager.listen((event) => {
      if ('gid' in event || event.kind === 'forgotten') this.sweep();
    });
  }

  /**
   * Holds a name while `add` adds its download.
   *
   * @param token name of the hand-off
   * @returns the result of `add`; undefined if the name is taken or cannot be held: nothing has
   *   been added then
   * @throws the error of `add`: the name is released again
   */
  while<T>(path: string, token: string, add: () => T): T | undefined {
    if (this.#isTaken(path)) return undefined;
    const before = this.#held;
    // If the process is killed after this, the next start finds the record.
    this.#keep([...before, { path, token }]);
    try {
      holdName(path, token);
    } catch {
      this.#keep(before);
      return undefined;
    }
    try {
      return add();
    } finally {
      // The name stays held if the download exists.
      this.sweep();
    }
  }

  /**
   * Releases all names whose downloads no longer need them. Must also be called once at the start.
   */
  sweep(): void {
    if (this.#held.length === 0) return;
    this.#again = true;
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
    });
  }

  /**
   * Resolves when no release is under way. Names of downloads that continue at the next start stay
   * held.
   */
  async close(): Promise<void> {
    this.#unlisten();
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      // Waits a turn: more events may come, and a download that is being added then exists.
      await new Promise((resolve) => setImmediate(resolve));
      for (const held of this.#held) {
        if (this.#isNeeded(held)) continue;
        try {
          await releaseName(held.path, held.token);
          this.#keep(this.#held.filter((one) => one !== held));
        } catch {
          // The folder may be missing: the next change tries again.
        }
      }
    }
  }

  #isNeeded({ path, token }: Held): boolean {
    const gid = this.#manager.store.withHandOff(token, 0);
    const record = gid === undefined ? undefined : this.#manager.find(gid);
    return record?.request.held === token && targetOf(record) === path;
  }

  /** Returns true if a download has that name. Chromium does not know downloads begun by others. */
  #isTaken(path: string): boolean {
    const beside = [DATA_SUFFIX, JOURNAL_SUFFIX, ASIDE_SUFFIX];
    if (beside.some((suffix) => existsSync(path + suffix))) return true;
    return this.#manager.unfinished().some((record) => targetOf(record) === path);
  }

  #keep(held: readonly Held[]): void {
    this.#store.set(SETTING, held);
    this.#held = held;
  }
}
