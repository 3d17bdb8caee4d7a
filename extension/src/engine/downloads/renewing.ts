/**
 * Finds the earlier download of this engine that a link continues, as the app does with its own:
 * `shared/src/download/adding/renewal.ts` decides for both.
 */

import { rangeBytes } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  byLikelihood,
  type EarlierDownload,
  type NewLink,
  renewalOf,
  renewalSamples,
} from '@millrace/shared/download/adding/renewal';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { AddedLink, Offer } from '../../contract/taker.ts';
import { type DownloadRecord, journalOf, type LinkParts, renewed } from '../records/record.ts';
import type { Records } from '../records/records.ts';
import type { FetchSource } from '../sources/fetch-source.ts';
import type { Proof } from '../sources/proof.ts';
import type { EngineFiles } from '../storage/files.ts';
import type { Partial } from '../storage/opfs-store.ts';
import { isEqual, readRange } from './compare.ts';
import type { Fetching } from './fetching.ts';

/** Longest time that finding out about one link takes, ms. */
const COMPARISON_MS = 4000;
/** Most earlier downloads with which one link is compared. */
const MAX_COMPARED = 3;

export interface RenewingOptions {
  readonly records: Records;
  readonly files: EngineFiles;
  readonly random: Random;
  readonly fetching: Pick<Fetching, 'source' | 'use' | 'discover'>;
  /** Stores a record. */
  readonly put: (record: DownloadRecord) => Promise<void>;
  /** Returns whether a download runs. */
  readonly runs: (id: string) => boolean;
  /** Called when downloads whose files were open may run again. */
  readonly onFree: () => void;
}

/** A comparison under way: it has the files of the earlier download open. */
interface Comparison {
  readonly abort: AbortController;
  readonly ended: Promise<unknown>;
}

export class Renewing {
  readonly #options: RenewingOptions;
  readonly #under = new Map<string, Comparison>();

  constructor(options: RenewingOptions) {
    this.#options = options;
  }

  /** Returns whether a download's files are open for a comparison: it must not run meanwhile. */
  has(id: string): boolean {
    return this.#under.has(id);
  }

  /**
   * Finds the earlier download that a proven offer continues.
   *
   * @returns its id; undefined if there is none
   * @throws the signal's reason
   */
  ofOffer(offer: Offer, { validators }: Proof, signal: AbortSignal): Promise<string | undefined> {
    const { url, finalUrl, fileName, length, headers } = offer;
    const source = this.#options.fetching.source(url, undefined, headers, { finalUrl });
    const link = { url, name: fileName, length };
    return this.#find(link, source, { length, validators }, signal);
  }

  /** Continues the earlier download of an added link. @returns its id; undefined: there is none */
  async ofAdded({ fileName, ...parts }: AddedLink): Promise<string | undefined> {
    const { fetching } = this.#options;
    const link = { url: parts.url, name: fileName };
    if (this.#alike(link).length === 0) return undefined;
    const signal = AbortSignal.timeout(2 * COMPARISON_MS);
    const source = fetching.source(parts.url, undefined, parts.headers);
    try {
      const { length, opened, ...proof } = await fetching.discover(source, signal);
      const version = { length, validators: proof.validators };
      const id = await this.#find({ ...link, length }, source, version, signal);
      const isRenewed = await this.renew(id, { ...parts, ...proof, finalUrl: opened.url });
      return isRenewed ? id : undefined;
    } catch {
      // The link fails, as the download that it becomes will say.
      return undefined;
    }
  }

  /** Gives an earlier download a new link. @returns false if that is not possible any more */
  async renew(id: string | undefined, link: LinkParts, handOff?: string): Promise<boolean> {
    const record = id === undefined ? undefined : this.#options.records.get(id);
    const next = record && renewed(record, link, handOff);
    if (next === undefined) return false;
    await this.#options.put(next);
    return true;
  }

  /** Returns the earlier downloads that a link may continue, the likeliest first. */
  #alike(link: NewLink): DownloadRecord[] {
    const { records, runs } = this.#options;
    const free = records.all.filter(({ id }) => !runs(id) && !this.has(id));
    const found = free.flatMap((record) => {
      const facts = earlierOf(record);
      return renewalOf(facts, link) === 'no' ? [] : [{ ...facts, record }];
    });
    return byLikelihood(found, link.url).map(({ record }) => record);
  }

  /**
   * Finds the earlier download of the file at a link.
   *
   * @param link with its length
   * @param version of the link's file, as its server has stated it
   * @returns its id; undefined if no earlier one is shown to have the same file
   * @throws the signal's reason
   */
  async #find(
    link: NewLink,
    source: FetchSource,
    version: PinnedVersion,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const both = AbortSignal.any([signal, AbortSignal.timeout(COMPARISON_MS)]);
    for (const record of this.#alike(link).slice(0, MAX_COMPARED)) {
      const isSame = await this.#isSame(record, link, source, version, both).catch(() => false);
      signal.throwIfAborted();
      if (isSame) return record.id;
    }
    return undefined;
  }

  /** Ends the comparison with a download, and resolves when its files are closed. */
  async end(id: string): Promise<void> {
    const under = this.#under.get(id);
    under?.abort.abort(new MillraceError('interrupted'));
    await under?.ended.catch(() => {});
  }

  async #isSame(
    record: DownloadRecord,
    link: NewLink,
    source: FetchSource,
    version: PinnedVersion,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { id } = record;
    if (renewalOf(earlierOf(record), link) === 'take') return true;
    const abort = new AbortController();
    const work = this.#compare(
      record,
      link,
      source,
      version,
      AbortSignal.any([signal, abort.signal]),
    );
    this.#under.set(id, { abort, ended: work });
    try {
      return await work;
    } finally {
      this.#under.delete(id);
      this.#options.onFree();
    }
  }

  async #compare(
    record: DownloadRecord,
    link: NewLink,
    source: FetchSource,
    version: PinnedVersion,
    signal: AbortSignal,
  ): Promise<boolean> {
    const partial = await this.#options.files.open(record.id, journalOf(record));
    try {
      signal.throwIfAborted();
      const { stored } = partial;
      const earlier = { ...earlierOf(record), storedBytes: stored.bytes };
      if (renewalOf(earlier, link) !== 'compare') return renewalOf(earlier, link) === 'take';
      for (const range of renewalSamples(stored.ranges, this.#options.random)) {
        const theirs = await this.#options.fetching.use(source, signal, () =>
          readRange(source, range, version, signal),
        );
        if (!isEqual(readStored(partial, range), theirs)) return false;
      }
      return true;
    } finally {
      partial.close();
    }
  }
}

function readStored(partial: Partial, range: { start: number; end: number }): Uint8Array {
  const bytes = new Uint8Array(rangeBytes(range));
  return bytes.subarray(0, partial.read(range.start, bytes));
}

function earlierOf({ state, fileName, url, length, storedBytes }: DownloadRecord): EarlierDownload {
  return { state, name: fileName, url, length, storedBytes };
}
