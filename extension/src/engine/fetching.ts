/** One download, from what is known of it to a complete file whose digest is right. */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { safeFileName } from '@millrace/shared/download/file-name';
import { looksSigned } from '@millrace/shared/download/signed-url';
import { SourceHealth } from '@millrace/shared/download/source-health';
import type { Offer } from '../taker.ts';
import { nameInFields } from './content-disposition.ts';
import { type Fetch, FetchSource } from './fetch-source.ts';
import type { EngineFiles } from './files.ts';
import type { Ledger } from './ledger.ts';
import { discover } from './proof.ts';
import { type DownloadRecord, edgesOf } from './record.ts';
import { lackOfRoom, type StorageEstimate } from './room.ts';
import type { Run } from './run.ts';
import { HostSlots } from './sources.ts';

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
  readonly #o: FetchingOptions;
  readonly #ledger: Ledger;
  readonly #put: (record: DownloadRecord) => Promise<void>;
  readonly #slots = new HostSlots();

  /** @param put keeps a record */
  constructor(
    options: FetchingOptions,
    ledger: Ledger,
    put: (record: DownloadRecord) => Promise<void>,
  ) {
    this.#o = options;
    this.#ledger = ledger;
    this.#put = put;
  }

  /** @param edge base URL of the edge to ask; undefined: the origin itself */
  source(url: string, edge: string | undefined, headers: Offer['headers']): FetchSource {
    const { fetch, wallNow, random } = this.#o;
    return new FetchSource({
      url,
      edge,
      headers,
      fetch,
      wallNow,
      health: new SourceHealth(random),
    });
  }

  /** @throws MillraceError `disk-full` where there is no room for so many bytes more */
  async checkRoom(length: number): Promise<void> {
    const lack = lackOfRoom(await this.#o.estimate(), length, this.#ledger.all);
    if (lack !== undefined) throw new MillraceError('disk-full', lack);
  }

  /**
   * Resolves when all bytes are there, and have the digest that the origin states.
   *
   * @throws MillraceError; the signal's reason
   */
  async complete(given: DownloadRecord, run: Run, signal: AbortSignal): Promise<void> {
    const record = await this.#discovered(given, signal);
    const { id, url, length = 0, validators = {}, headers, digests = [] } = record;
    const partial = await this.#o.files.open(id, { url, length, validators });
    const { random, wait } = this.#o;
    await run.fetch({
      random,
      wait,
      partial,
      sources: [
        ...edgesOf(record).map((edge) => this.source(url, edge, {})),
        this.source(url, undefined, headers),
      ],
      slots: this.#slots,
      version: { length, validators },
      digests,
      mayRepeat: !looksSigned(url),
      signal,
    });
  }

  /** Asks what there is where that is not known yet, for as long as that takes. */
  async #discovered(record: DownloadRecord, signal: AbortSignal): Promise<DownloadRecord> {
    if (record.length !== undefined && record.validators !== undefined) return record;
    const source = this.source(record.url, undefined, record.headers);
    const { health } = source;
    for (;;) {
      try {
        const { length, opened, ...proof } = await discover(source, signal);
        await this.checkRoom(length);
        const better = record.nameIsGuess ? nameInFields(opened.fields) : undefined;
        const fileName = better === undefined ? record.fileName : safeFileName(better);
        const found = { ...proof, finalUrl: opened.url, length, fileName };
        const next = { ...this.#ledger.known(record.id), ...found };
        await this.#put(next);
        return next;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = asMillraceError(thrown);
        if (error.code === 'disk-full') throw error;
        health.onFailure(error, false, this.#o.now());
        const at = health.usableAt();
        if (at === undefined) throw error;
        await this.#o.wait(Math.max(0, at - this.#o.now()), signal);
        signal.throwIfAborted();
      }
    }
  }
}
