/** Lets sources into a download once they are shown to hold its file. */

import { type ByteRange, rangeBytes } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  type SourceVersion,
  samplePlan,
  samplesWithin,
} from '@millrace/shared/download/transfer/same-file';
import type { Session } from '@millrace/shared/download/transfer/session';
import { canPin } from '@millrace/shared/http/fields/validators';
import type { PartialFile } from '../partial/partial-file.ts';
import { sleep } from '../platform/sleep.ts';
import type { HttpSource } from './http-source.ts';
import { admit, readSample } from './sample-check.ts';
import type { SourceSet } from './source-set.ts';

export interface GatekeeperOptions {
  readonly sources: SourceSet;
  readonly file: PartialFile;
  /** The file's version, by the source that was first. */
  readonly reference: SourceVersion;
  readonly first: HttpSource;
  readonly random: Random;
  readonly session: Session<HttpSource>;
  /** Ends it before its session ends. */
  readonly signal: AbortSignal;
  /** The source that defined the file has sent nothing more: the others have to define it now. */
  readonly onOrphaned: () => void;
  readonly onAdmitted: (source: HttpSource) => void;
}

/** How often it is looked whether there is something to compare with. */
const COMPARE_AGAIN_MS = 250;

export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  /** Begins with letting in all sources that are not in yet. */
  start(): void {
    for (const source of this.#options.sources.sources) {
      if (source.version === undefined) this.letIn(source);
    }
  }

  /** Admits a source as soon as it has proven its file; it may try repeatedly. */
  letIn(source: HttpSource): void {
    const { reference, first, onAdmitted } = this.#options;
    if (source.health.quarantine !== undefined) return;
    if (source.url === first.url && canPin(reference.validators)) {
      // Every answer of the same URL is held to the version: no other proof is needed.
      source.version = { length: reference.length, validators: reference.validators };
      onAdmitted(source);
      return;
    }
    const task: Promise<void> = this.#tryUntilIn(source).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Resolves when no proof is under way; the signal must have been aborted. */
  async ended(): Promise<void> {
    await Promise.all(this.#tasks);
  }

  async #tryUntilIn(source: HttpSource): Promise<void> {
    const { sources, reference, first, file, random, session, signal } = this.#options;
    while (!signal.aborted) {
      try {
        const at = source.health.usableAt();
        if (at === undefined) return;
        await sleep(at - session.now(), signal);
        const fresh = this.#teller(source) !== undefined;
        const plan = fresh
          ? samplePlan(reference.length, random)
          : samplesWithin(file.stored.ranges, random);
        if (plan.length === 0) {
          // No byte is stored, and no source can be asked: there is nothing to compare with yet.
          if (first.health.quarantine !== undefined) return this.#options.onOrphaned();
          await sleep(COMPARE_AGAIN_MS, signal);
          continue;
        }
        const known = (range: ByteRange) => this.#known(range, source);
        const referenceUrl = first.url;
        await admit(source, { reference, referenceUrl, plan, known }, signal);
        this.#options.onAdmitted(source);
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        const error = asMillraceError(thrown);
        // At a source that is not in yet, another version is another file.
        sources.onFailure(
          source,
          isMillraceError(error, 'version-changed') ? different(error) : error,
          false,
        );
        session.onSourceFailed?.(source, error);
      }
    }
  }

  /** Bytes of the file: from the disk, otherwise from an admitted source. */
  async #known(range: ByteRange, asking: HttpSource): Promise<Buffer | undefined> {
    const { file, signal } = this.#options;
    if (file.stored.covers(range)) return this.#stored(range);
    const teller = this.#teller(asking);
    if (teller === undefined) return undefined;
    try {
      return await readSample(await teller.openRange(range, teller.version, signal), range);
    } catch (error) {
      signal.throwIfAborted();
      // That is not the fault of the source that is being looked at.
      this.#options.sources.onFailure(teller, asMillraceError(error), false);
      return undefined;
    }
  }

  #teller(asking: HttpSource): HttpSource | undefined {
    const { sources, session } = this.#options;
    return sources.sources.find((source) => {
      const at = source.health.usableAt();
      return (
        source !== asking && source.version !== undefined && at !== undefined && at <= session.now()
      );
    });
  }

  async #stored(range: ByteRange): Promise<Buffer> {
    const bytes = Buffer.alloc(rangeBytes(range));
    await this.#options.file.read(bytes, range.start);
    return bytes;
  }
}

function different(error: MillraceError): MillraceError {
  return new MillraceError('different-file', error.detail);
}
