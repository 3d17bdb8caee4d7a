/**
 * The engine in the extension: takes downloads, runs some at a time, has the browser save complete
 * ones, and continues after a restart from its records. Its surroundings are passed in: files,
 * records, `fetch`, time and randomness.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import type { EngineCall, EngineMessage, EngineResults } from '../../contract/protocol.ts';
import { type Offer, type OfferState, TakerError } from '../../contract/taker.ts';
import { hostOf } from '../../intercept/hosts.ts';
import { failed, isOfNoUse, resumed } from '../records/failures.ts';
import { hasPlace, hasRoom, toStart } from '../records/places.ts';
import {
  added,
  type DownloadRecord,
  fetched,
  hostOf as hostOfRecord,
  isAtBrowser,
  paused,
  takenBy,
} from '../records/record.ts';
import { type EngineRecords, Records } from '../records/records.ts';
import { shown } from '../records/shown.ts';
import { Fetching, type FetchingOptions } from './fetching.ts';
import { Offers } from './offers.ts';
import { Renewing } from './renewing.ts';
import { Run } from './run.ts';
import { Saving } from './saving.ts';

export interface EngineOptions extends FetchingOptions {
  readonly records: EngineRecords;
  readonly uuid: () => string;
  readonly emit: (message: Extract<EngineMessage, { event: string }>) => void;
}

/** Time between updates of a record with the number of flushed bytes, ms. */
const FLUSH_MS = 5000;
/**
 * Time between orders to save a file that the browser has not reported as saved, ms: a background
 * can end with an order that it has received, and nothing else would wake the next one.
 */
const ASK_MS = 10_000;
/** Idle time after which the engine can be ended, ms. */
const IDLE_MS = 30_000;

export class Engine {
  readonly #options: EngineOptions;
  readonly #records: Records;
  readonly #fetching: Fetching;
  readonly #saving: Saving;
  readonly #offers: Offers;
  readonly #renewing: Renewing;
  readonly #runs = new Map<string, Run>();
  #busyAt: Millis;
  #flushedAt: Millis;
  #askedAt: Millis;

  private constructor(options: EngineOptions, records: Records) {
    const { files, emit, now } = options;
    const put = (record: DownloadRecord) => this.#put(record);
    this.#options = options;
    this.#records = records;
    this.#fetching = new Fetching(options, records, put);
    this.#saving = new Saving({
      records,
      files,
      put,
      emit: (save) => emit({ event: 'save', save }),
    });
    this.#offers = new Offers(now);
    this.#renewing = new Renewing({
      ...{ records, files, put, random: options.random, fetching: this.#fetching },
      runs: (id) => this.#runs.has(id),
      onFree: () => this.#kick(),
    });
    this.#busyAt = now();
    this.#flushedAt = now();
    this.#askedAt = now();
  }

  /** Opens the engine with the downloads of an earlier run; deletes files without a record. */
  static async open(options: EngineOptions): Promise<Engine> {
    const engine = new Engine(options, await Records.open(options.records));
    for (const id of await options.files.ids()) {
      const state = engine.#records.get(id)?.state;
      if (state === undefined || state === 'complete') await options.files.remove(id);
    }
    for (const record of engine.#records.all) {
      if (record.state === 'saving') await engine.#saving.begin(record);
    }
    engine.#kick();
    return engine;
  }

  /** Handles a call of the background. @throws TakerError, MillraceError */
  async call(call: EngineCall): Promise<EngineResults[EngineCall['type']]> {
    this.#busyAt = this.#options.now();
    switch (call.type) {
      case 'start':
        for (const record of this.#records.all) this.#saving.ask(record);
        this.#askedAt = this.#options.now();
        return {};
      case 'offer':
        return this.#offer(call.offer as Offer);
      case 'commit':
        return this.#commit(call.handOff);
      case 'withdraw':
        this.#offers.drop(call.handOff);
        return {};
      case 'offerState':
        return this.#stateOf(call.handOff);
      case 'list':
        return { downloads: this.#list() };
      case 'command':
        return this.#command(call.id, call.command);
      case 'add':
        return { ids: await this.#add(call.links) };
      case 'saving':
        return { known: await this.#saving.onBegun(call.id, call.url, call.downloadId) };
      case 'saved':
        return { known: await this.#saving.onSaved(call.id, call.file) };
      case 'not-saved':
        await this.#saving.onNotSaved(call.id, new MillraceError(call.code, call.message));
        return {};
    }
  }

  /** Does periodic work; to be called a few times a second. */
  tick(): void {
    const now = this.#options.now();
    const flush = now - this.#flushedAt >= FLUSH_MS;
    if (flush) this.#flushedAt = now;
    for (const [id, run] of this.#runs) {
      if (run.tick()) this.#records.changed = true;
      if (flush) void this.#keep(id, run);
    }
    this.#fetching.tick();
    // A download that waits for its server makes room for others.
    this.#start();
    if (now - this.#askedAt >= ASK_MS) {
      this.#askedAt = now;
      for (const record of this.#records.all) this.#saving.askAgain(record);
    }
    const saving = this.#records.all.some(isAtBrowser);
    if (this.#runs.size > 0 || this.#offers.size > 0 || saving) this.#busyAt = now;
    if (this.#records.changed) this.#options.emit({ event: 'changed' });
    this.#records.changed = false;
    if (now - this.#busyAt < IDLE_MS) return;
    this.#busyAt = now;
    this.#options.emit({ event: 'idle' });
  }

  /** Retries waiting downloads at once; to be called when the network may be back. */
  retryNow(): void {
    for (const run of this.#runs.values()) run.retryNow();
  }

  async #offer(offer: Offer): Promise<Record<string, never>> {
    if (takenBy(this.#records.all, offer.handOff) !== undefined) return {};
    if (!hasPlace(this.#records.all)) {
      throw new TakerError('refused', 'There are too many downloads already', 'queue-full');
    }
    // Refuse a download that would have to wait here: it is better off in the browser.
    if (this.#offers.state(offer.handOff) === 'unknown') this.#checkFree(hostOfRecord(offer));
    // The offer is registered before the room is checked, so that a withdrawal in between ends it.
    await this.#offers.prove(offer, async (signal) => {
      await this.#checkRoom(offer.length);
      signal.throwIfAborted();
      const proof = await this.#fetching.prove(offer, signal);
      const continues = await this.#renewing.ofOffer(offer, proof, signal);
      if (offer.onlyRenews === true && continues === undefined) throw notEarlier();
      return { ...proof, continues };
    });
    return {};
  }

  /** Checks that there is room for more bytes. @throws TakerError if there is not */
  async #checkRoom(length: number): Promise<void> {
    await this.#fetching.checkRoom(length).catch((error: unknown) => {
      if (!isMillraceError(error)) throw error;
      throw new TakerError('refused', error.detail, error.code);
    });
  }

  /**
   * Checks that a host has a free connection.
   *
   * @throws TakerError if other downloads use all of them
   */
  #checkFree(host: string): void {
    const offered = this.#offers.all.map((offer) => hostOfRecord(offer));
    if (hasRoom(host, [...this.#busyHosts(), ...offered])) return;
    throw new TakerError('refused', `All connections to ${host} are in use`, 'queue-full');
  }

  /** Returns the hosts of running downloads that are not idle, once per download. */
  #busyHosts(): string[] {
    return [...this.#runs].flatMap(([id, run]) => {
      const record = this.#records.get(id);
      return run.idle || record === undefined ? [] : [hostOfRecord(record)];
    });
  }

  async #commit(handOff: string): Promise<{ id: string }> {
    const taken = takenBy(this.#records.all, handOff);
    if (taken !== undefined) return { id: taken.id };
    const proven = this.#offers.proven(handOff);
    if (proven === undefined) throw new TakerError('failed', 'There is no such offer');
    const { offer } = proven;
    const { continues, ...proof } = proven.proof;
    const { url, finalUrl, headers, edges, published } = offer;
    const link = { url, finalUrl, headers, edges, published, ...proof };
    if (await this.#renewing.renew(continues, link, handOff)) {
      this.#offers.drop(handOff);
      this.#kick();
      return { id: continues as string };
    }
    if (offer.onlyRenews === true) throw notEarlier();
    await this.#put({
      ...link,
      id: handOff,
      fileName: safeFileName(offer.fileName),
      length: offer.length,
      promised: offer.length,
      createdAt: this.#options.wallNow(),
      state: 'queued',
      storedBytes: 0,
    });
    this.#offers.drop(handOff);
    this.#kick();
    return { id: handOff };
  }

  #stateOf(handOff: string): OfferState {
    const taken = takenBy(this.#records.all, handOff);
    if (taken !== undefined) return { state: 'committed', id: taken.id };
    return { state: this.#offers.state(handOff) };
  }

  #list() {
    return this.#records.all
      .toSorted((a, b) => b.createdAt - a.createdAt)
      .map((record) => shown(record, this.#runs.get(record.id)?.figures()));
  }

  async #add(links: Extract<EngineCall, { type: 'add' }>['links']): Promise<string[]> {
    const ids: string[] = [];
    for (const link of links) {
      if (hostOf(link.url) === undefined) continue;
      if (!hasPlace(this.#records.all)) break;
      const earlier = await this.#renewing.ofAdded(link);
      if (earlier !== undefined) {
        ids.push(earlier);
        continue;
      }
      const id = this.#options.uuid();
      await this.#put(added(link, id, this.#options.wallNow()));
      ids.push(id);
    }
    this.#kick();
    return ids;
  }

  async #command(id: string, command: 'pause' | 'resume' | 'remove') {
    const record = this.#records.known(id);
    if (command === 'remove') {
      await this.#remove(record);
    } else if (command === 'pause') {
      const next = paused(record);
      if (next === undefined) throw wrongState(record);
      await this.#put(next);
      await this.#stop(id);
    } else {
      const next = resumed(record);
      if (next === undefined) throw wrongState(record);
      if (next.anew) await this.#options.files.remove(id);
      // Throws if the download was removed meanwhile.
      this.#records.known(id);
      await this.#put(next.record);
    }
    this.#kick();
    return {};
  }

  #kick(): void {
    this.#start();
    this.#records.changed = true;
  }

  /** Starts the downloads whose turn it is. */
  #start(): void {
    const has = (id: string) => this.#runs.has(id) || this.#renewing.has(id);
    for (const record of toStart(this.#records.all, { has }, this.#busyHosts())) {
      const run = new Run((signal, run) => this.#run(record, run, signal), this.#options.now);
      this.#runs.set(record.id, run);
      this.#records.changed = true;
      void run.ended.then(() => {
        this.#runs.delete(record.id);
        this.#kick();
      });
    }
  }

  /** Runs one download until it is complete, fails, or is stopped. It never rejects. */
  async #run(given: DownloadRecord, run: Run, signal: AbortSignal): Promise<void> {
    const { id } = given;
    try {
      await this.#fetching.complete(given, run, signal);
      await this.#saving.begin(fetched(this.#records.known(id), ''));
    } catch (thrown) {
      const record = this.#records.get(id);
      if (record === undefined) return;
      const { storedBytes } = run.figures();
      const kept = {
        ...record,
        storedBytes: Math.max(storedBytes, run.opened ? 0 : record.storedBytes),
      };
      const next = signal.aborted ? kept : failed(kept, asMillraceError(thrown));
      await this.#put(next).catch(() => {});
      if (isOfNoUse(next)) await this.#options.files.remove(id).catch(() => {});
      this.#saving.ask(next);
    }
  }

  /** Flushes received bytes to disk, and updates their number in the record. */
  async #keep(id: string, run: Run): Promise<void> {
    await run.flush();
    const record = this.#records.get(id);
    const { storedBytes } = run.figures();
    if (record === undefined || record.storedBytes === storedBytes || !run.opened) return;
    if (this.#runs.get(id) === run) await this.#put({ ...record, storedBytes });
  }

  async #remove({ id }: DownloadRecord): Promise<void> {
    await this.#records.remove(id);
    await this.#stop(id);
    await this.#saving.leave(id);
  }

  async #stop(id: string): Promise<void> {
    const run = this.#runs.get(id);
    run?.stop();
    await run?.ended;
    await this.#renewing.end(id);
  }

  async #put(record: DownloadRecord): Promise<void> {
    for (const old of await this.#records.put(record)) await this.#remove(old);
  }
}

function wrongState({ state }: DownloadRecord): MillraceError {
  return new MillraceError('wrong-state', `it is ${state}`);
}

function notEarlier(): TakerError {
  return new TakerError('refused', 'It continues no earlier download', 'no-such-download');
}
