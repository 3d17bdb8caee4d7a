/** Admits sources to a download once they are shown to hold its file. */

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
import { sleep } from '@millrace/shared/node/sleep';
import type { PartialFile } from '../partial/partial-file.ts';
import type { DownloadSource } from './download-source.ts';
import { admit, readBeginning } from './sample-check.ts';
import type { SourceSet } from './source-set.ts';

export interface GatekeeperOptions {
  readonly sources: SourceSet;
  readonly file: PartialFile;
  /** The file's version, as the first source stated it. */
  readonly reference: SourceVersion;
  readonly first: DownloadSource;
  readonly random: Random;
  readonly session: Session<DownloadSource>;
  /** Ends the checks, possibly before the session ends. */
  readonly signal: AbortSignal;
  /**
   * Called when the source that defined the file fails before any byte is stored: another source
   * must define the file.
   */
  readonly onOrphaned: () => void;
  readonly onAdmitted: (source: DownloadSource) => void;
}

/** Milliseconds between looks for something to compare with. */
const COMPARE_AGAIN_MS = 250;

export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  /** Starts to admit all sources that are not admitted yet. */
  start(): void {
    for (const source of this.#options.sources.sources) {
      if (source.version === undefined) this.letIn(source);
    }
  }

  /**
   * Admits a source as soon as it has shown that it holds the file, after several attempts if
   * needed.
   */
  letIn(source: DownloadSource): void {
    const { reference, first, onAdmitted } = this.#options;
    if (source.health.quarantine !== undefined) return;
    const isStranger = source.kind === 'house';
    if (!isStranger && source.url === first.url && canPin(reference.validators)) {
      // Every answer for the same URL is checked against the version, so no other proof is needed.
      source.version = { length: reference.length, validators: reference.validators };
      onAdmitted(source);
      return;
    }
    const task: Promise<void> = this.#tryUntilIn(source).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  /** Resolves when no check is under way. Abort the signal before the call. */
  async ended(): Promise<void> {
    await Promise.all(this.#tasks);
  }

  async #tryUntilIn(source: DownloadSource): Promise<void> {
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
        const compares = source.kind === 'house';
        await admit(source, { reference, referenceUrl, plan, known, compares }, signal);
        this.#options.onAdmitted(source);
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        const error = asMillraceError(thrown);
        // At a source that is not admitted yet, another version means another file.
        sources.onFailure(
          source,
          isMillraceError(error, 'version-changed') ? different(error) : error,
          false,
        );
        session.onSourceFailed?.(source, error);
      }
    }
  }

  /** Reads the first bytes of a range from the disk, or else from an admitted source. */
  async #known(range: ByteRange, asking: DownloadSource): Promise<Buffer | undefined> {
    const { file, signal } = this.#options;
    if (file.stored.covers(range) && !this.#isOfHouse(range)) return this.#stored(range);
    const teller = this.#teller(asking);
    if (teller === undefined) return undefined;
    try {
      return await readBeginning(teller, range, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The admitted source failed, not the source that is being checked.
      this.#options.sources.onFailure(teller, asMillraceError(error), false);
      return undefined;
    }
  }

  #teller(asking: DownloadSource): DownloadSource | undefined {
    const { sources, session } = this.#options;
    return sources.sources.find((source) => {
      const at = source.health.usableAt();
      return (
        source !== asking &&
        source.kind !== 'house' &&
        source.version !== undefined &&
        at !== undefined &&
        at <= session.now()
      );
    });
  }

  /** Returns true if an edge of the house gave any of a range: it is no evidence against others. */
  #isOfHouse(range: ByteRange): boolean {
    const { sources } = this.#options.sources;
    return sources.some(({ kind, given }) => kind === 'house' && given.bytesWithin(range) > 0);
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
