/** Remembers what was seen of depots in the folder for the state of programs. Losing some of it harms nothing. */

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import {
  byHistory,
  type DepotEvent,
  type DepotFailureKind,
  MAX_REMEMBERED,
  type SeenDepot,
  withEvent,
} from '@millrace/shared/exnode/depot-history';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { lockFile } from '../../files/file-lock.ts';

const weight = z.number().min(0).max(1000);
const RECORD = z.object({
  format: z.literal(1),
  depots: z
    .array(
      z.object({
        origin: z.url({ protocol: /^https?$/ }).max(300),
        at: z.number(),
        kept: weight,
        failed: weight,
        failedAt: z.number().optional(),
        failure: z.enum(['lost', 'failed', 'refused', 'slow']).optional(),
        refusedAt: z.number().optional(),
        rate: z.number().positive().optional(),
      }),
    )
    .max(MAX_REMEMBERED),
});

/** Something that was seen of a depot. */
interface Sighting {
  /** Base URL of the depot. */
  readonly depot: string;
  readonly event: DepotEvent;
}

export class KeptHistory {
  readonly #file: string;
  readonly #now: () => Millis;
  #waiting: Sighting[] = [];
  /** Failures that are a depot's own only if the upload comes to a good end without it. */
  #suspected: Sighting[] = [];

  /**
   * @param state folder for the state of programs
   * @param now Unix milliseconds
   */
  constructor(state: string, now: () => Millis = Date.now) {
    this.#file = join(state, 'depots.json');
    this.#now = now;
  }

  /** Returns what is remembered; nothing if that cannot be read. */
  async read(): Promise<readonly SeenDepot[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => 'null');
    try {
      return tryRead(RECORD, JSON.parse(text)).data?.depots ?? [];
    } catch {
      return [];
    }
  }

  /** Orders depots by what is remembered, as `byHistory`. */
  async ordered<D extends { readonly origin: string }>(found: readonly D[]) {
    return byHistory(found, await this.read(), this.#now());
  }

  /** Notes a failure that may be that of this computer or its line: see `confirm`. */
  suspect(depot: string, error: MillraceError | 'slow'): void {
    this.#suspected.push({ depot, event: { kind: error === 'slow' ? error : kindOf(error) } });
  }

  /** Notes the suspected failures as those of their depots, since all went well without these. */
  confirm(): void {
    this.#waiting.push(...this.#suspected);
    this.#suspected = [];
  }

  /** Notes that a depot has stored a part. @param bytes that it was sent in a time */
  kept(depot: string, bytes = 0, ms: Millis = 0): void {
    this.note(depot, { kind: 'kept', bytes, ms });
  }

  /** Notes a failure of a depot. */
  failed(depot: string, error: MillraceError): void {
    this.note(depot, { kind: kindOf(error) });
  }

  /** Notes something, for `save`. */
  note(depot: string, event: DepotEvent): void {
    this.#waiting.push({ depot, event });
  }

  /**
   * Writes down what was noted. Never rejects: while another process writes, and where nothing can be
   * written, it is forgotten.
   */
  async save(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0) return;
    try {
      await mkdir(join(this.#file, '..'), { recursive: true, mode: 0o700 });
      const unlock = await lockFile(`${this.#file}.lock`);
      try {
        let depots = await this.read();
        for (const { depot, event } of waiting) {
          depots = withEvent(depots, new URL(depot).origin, event, this.#now());
        }
        await replaceFile(this.#file, JSON.stringify({ format: 1, depots }));
      } finally {
        await unlock();
      }
    } catch {
      // Nothing depends on it.
    }
  }
}

/** Returns what an error of a depot says about it. */
function kindOf({ code }: MillraceError): DepotFailureKind {
  return REFUSALS.has(code) ? 'refused' : 'failed';
}

const REFUSALS: ReadonlySet<string> = new Set(['allocation-refused', 'owner-token-required']);
