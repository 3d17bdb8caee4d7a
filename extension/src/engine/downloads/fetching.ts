/** Fetches one download: from its record to a complete file with the right digest. */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { reasonInAnswer } from '@millrace/shared/download/request/edge-use';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { looksSigned } from '@millrace/shared/download/request/signed-url';
import { samplePlan } from '@millrace/shared/download/transfer/same-file';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { Offer } from '../../contract/taker.ts';
import { type DownloadRecord, edgesOf, journalOf } from '../records/record.ts';
import type { Records } from '../records/records.ts';
import { lackOfRoom, type StorageEstimate } from '../records/room.ts';
import { nameInFields } from '../sources/content-disposition.ts';
import { type Fetch, FetchSource, type FetchSourceOptions } from '../sources/fetch-source.ts';
import { HostSlots } from '../sources/host-slots.ts';
import { discover, type Proof, prove } from '../sources/proof.ts';
import type { EngineFiles } from '../storage/files.ts';
import { isEqual, readRange } from './compare.ts';
import type { Run } from './run.ts';

/** Longest wait for the first answer, ms. */
const ANSWER_MS = 20_000;

export interface FetchingOptions {
  readonly files: EngineFiles;
  readonly fetch: Fetch;
  readonly estimate: () => Promise<StorageEstimate>;
  readonly random: Random;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallNow: () => Millis;
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
}

export class Fetching {
  readonly #options: FetchingOptions;
  readonly #records: Records;
  readonly #put: (record: DownloadRecord) => Promise<void>;
  readonly #slots: HostSlots;

  /** @param put stores a record */
  constructor(
    options: FetchingOptions,
    records: Records,
    put: (record: DownloadRecord) => Promise<void>,
  ) {
    this.#options = options;
    this.#records = records;
    this.#put = put;
    this.#slots = new HostSlots(options.now);
  }

  /**
   * Returns a source for a URL.
   *
   * @param edge base URL of the edge to ask; undefined: the origin itself
   */
  source(
    url: string,
    edge: string | undefined,
    headers: Offer['headers'],
    more: Pick<FetchSourceOptions, 'published' | 'finalUrl'> = {},
  ): FetchSource {
    const { fetch, wallNow, random } = this.#options;
    return new FetchSource({
      url,
      ...more,
      edge,
      headers,
      fetch,
      wallNow,
      health: new SourceHealth(random),
    });
  }

  /** Does periodic work; to be called about every second. */
  tick(): void {
    this.#slots.tick();
  }

  /**
   * Shows that an offered download can be fetched here.
   *
   * @throws MillraceError; the signal's reason
   */
  prove(offer: Offer, signal: AbortSignal): Promise<Proof> {
    const source = this.source(offer.url, undefined, offer.headers);
    const { host } = new URL(offer.finalUrl);
    return this.#slots.use(host, signal, () => prove(source, offer, signal));
  }

  /** Checks that there is room for more bytes. @throws MillraceError `disk-full` if there is not */
  async checkRoom(length: number): Promise<void> {
    const lack = lackOfRoom(await this.#options.estimate(), length, this.#records.all);
    if (lack !== undefined) throw new MillraceError('disk-full', lack);
  }

  /**
   * Fetches a file; resolves when all bytes are stored and have the digest that the origin states.
   *
   * @throws MillraceError; the signal's reason
   */
  async complete(given: DownloadRecord, run: Run, signal: AbortSignal): Promise<void> {
    const record = await this.#discovered(given, signal);
    const { id, url, length = 0, validators = {}, headers, digests = [] } = record;
    const partial = await this.#options.files.open(id, journalOf(record));
    const { wait } = this.#options;
    const origin = this.source(url, undefined, headers, { finalUrl: record.finalUrl });
    const version = { length, validators };
    const { published = [] } = record;
    const edges = edgesOf(record).map((edge) => {
      const isPublished = published.includes(edge);
      return { source: this.source(url, edge, {}, { published: isPublished }), isPublished };
    });
    await run.fetch({
      wait,
      partial,
      sources: [
        ...edges.flatMap(({ source, isPublished }) => (isPublished ? [] : [source])),
        origin,
      ],
      joining: edges.flatMap(({ source, isPublished }) => (isPublished ? [source] : [])),
      admit: (edge, signal) => this.#admit(edge, origin, version, signal),
      slots: this.#slots,
      version,
      digests,
      mayRepeat: !looksSigned(url),
      signal,
    });
  }

  /**
   * Shows that an edge has the same file as its origin; retries until it has reached both.
   *
   * @throws MillraceError; the signal's reason
   */
  async #admit(
    edge: FetchSource,
    origin: FetchSource,
    version: PinnedVersion,
    signal: AbortSignal,
  ): Promise<void> {
    const health = new SourceHealth(this.#options.random);
    for (;;) {
      try {
        return await this.#compare(edge, origin, version, signal);
      } catch (error) {
        await this.#rest(health, error, signal);
      }
    }
  }

  /**
   * Waits until a retry is worthwhile.
   *
   * @throws the given error if no retry is worthwhile; the signal's reason
   */
  async #rest(health: SourceHealth, thrown: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const error = asMillraceError(thrown);
    if (error.code === 'disk-full') throw error;
    health.onFailure(error, false, this.#options.now());
    const at = health.usableAt();
    if (at === undefined) throw error;
    await this.#options.wait(Math.max(0, at - this.#options.now()), signal);
    signal.throwIfAborted();
  }

  async #compare(
    edge: FetchSource,
    origin: FetchSource,
    version: PinnedVersion,
    signal: AbortSignal,
  ): Promise<void> {
    for (const range of samplePlan(version.length, this.#options.random)) {
      const [given, right] = await Promise.all(
        [edge, origin].map((source) =>
          this.#slots.use(source.host, signal, () => readRange(source, range, version, signal)),
        ),
      );
      if (!isEqual(given as Uint8Array, right as Uint8Array)) {
        throw new MillraceError('different-file', `it differs at ${range.start}`);
      }
    }
  }

  /** Carries out requests to a source when its host has a free connection. */
  use<T>(source: FetchSource, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#slots.use(source.host, signal, work);
  }

  /**
   * Finds out the length and version of the file at a source's URL.
   *
   * @throws MillraceError; the signal's reason
   */
  async discover(source: FetchSource, signal: AbortSignal) {
    const end = new AbortController();
    const both = AbortSignal.any([signal, end.signal]);
    return this.#slots.use(source.host, signal, () => {
      void this.#options.wait(ANSWER_MS, end.signal).then(() => {
        end.abort(new MillraceError('origin-timeout'));
      });
      return discover(source, both).finally(() => end.abort());
    });
  }

  /**
   * Returns the record with the file's length and version, which it finds out, with any number of
   * retries, if they are not known yet.
   */
  async #discovered(record: DownloadRecord, signal: AbortSignal): Promise<DownloadRecord> {
    if (record.length !== undefined && record.validators !== undefined) return record;
    const source = this.source(record.url, undefined, record.headers);
    const { health } = source;
    for (;;) {
      try {
        const { length, opened, ...proof } = await this.discover(source, signal);
        await this.checkRoom(length);
        const better = record.nameIsGuess ? nameInFields(opened.fields) : undefined;
        const fileName = better === undefined ? record.fileName : safeFileName(better);
        const isPersonal = reasonInAnswer({ status: 206, headers: opened.fields }) !== undefined;
        const edges = isPersonal ? [] : record.edges;
        const found = { ...proof, finalUrl: opened.url, length, fileName, edges };
        const next = { ...this.#records.known(record.id), ...found };
        await this.#put(next);
        return next;
      } catch (thrown) {
        await this.#rest(health, thrown, signal);
      }
    }
  }
}
