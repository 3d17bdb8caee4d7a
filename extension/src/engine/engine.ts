/**
 * The downloads of the engine in the extension: takes them, runs some at a time, has the browser save
 * what is complete, and goes on after a restart with what its records say. Its surroundings are given
 * to it: files, records, `fetch`, time and chance.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { nameFromUrl, safeFileName } from '@millrace/shared/download/file-name';
import type { JournalHeader } from '@millrace/shared/download/journal';
import { looksSigned } from '@millrace/shared/download/signed-url';
import { SourceHealth } from '@millrace/shared/download/source-health';
import { type Offer, type OfferState, TakerError } from '../taker.ts';
import { nameInFields } from './content-disposition.ts';
import { type Fetch, FetchSource } from './fetch-source.ts';
import { Offers } from './offers.ts';
import type { Partial } from './partial.ts';
import { discover, prove } from './proof.ts';
import type { EngineCall, EngineMessage, EngineResults, Save } from './protocol.ts';
import {
  type DownloadRecord,
  failed,
  fetched,
  hasPlace,
  isAtBrowser,
  paused,
  resumed,
  saved,
  shown,
  toForget,
  toStart,
} from './record.ts';
import { lackOfRoom, type StorageEstimate } from './room.ts';
import { Run } from './run.ts';
import { HostSlots } from './sources.ts';

export interface EngineRecords {
  all(): Promise<readonly DownloadRecord[]>;
  /** Resolves when it survives the end of the browser. */
  put(record: DownloadRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface EngineFiles {
  /** @throws MillraceError */
  open(id: string, header: JournalHeader): Promise<Partial>;
  /** A `blob:` URL of the data. @throws MillraceError where they do not have that length */
  url(id: string, length: number): Promise<string>;
  revoke(url: string): void;
  remove(id: string): Promise<void>;
  ids(): Promise<readonly string[]>;
}

export interface EngineOptions {
  readonly records: EngineRecords;
  readonly files: EngineFiles;
  readonly fetch: Fetch;
  readonly estimate: () => Promise<StorageEstimate>;
  readonly uuid: () => string;
  readonly random: Random;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallNow: () => Millis;
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
  readonly emit: (message: Extract<EngineMessage, { event: string }>) => void;
}

/** What is on disk for good, and what the record says of it, is brought up to date so often. */
const FLUSH_MS = 5000;
/** With nothing left to do for so long, the engine can be ended. */
const IDLE_MS = 30_000;

export class Engine {
  readonly #o: EngineOptions;
  readonly #records = new Map<string, DownloadRecord>();
  readonly #runs = new Map<string, Run>();
  readonly #offers: Offers;
  readonly #slots = new HostSlots();
  /** By id: what the browser saves from. */
  readonly #urls = new Map<string, string>();
  #changed = false;
  #busyAt: Millis;
  #flushedAt: Millis;

  private constructor(options: EngineOptions) {
    this.#o = options;
    this.#offers = new Offers(options.now);
    this.#busyAt = options.now();
    this.#flushedAt = options.now();
  }

  /** Takes up what an earlier run has left; files that nobody knows are deleted. */
  static async open(options: EngineOptions): Promise<Engine> {
    const engine = new Engine(options);
    for (const record of await options.records.all()) engine.#records.set(record.id, record);
    for (const id of await options.files.ids()) {
      const state = engine.#records.get(id)?.state;
      if (state === undefined || state === 'complete') await options.files.remove(id);
    }
    for (const record of engine.#records.values()) {
      if (record.state === 'saving') await engine.#save(record);
    }
    engine.#kick();
    return engine;
  }

  /** @throws TakerError, MillraceError */
  async call(call: EngineCall): Promise<EngineResults[EngineCall['type']]> {
    this.#busyAt = this.#o.now();
    switch (call.type) {
      case 'start':
        for (const record of this.#records.values()) this.#emitSave(record);
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
        return this.#onSaving(call.id, call.url, call.downloadId);
      case 'saved':
        return this.#onSaved(call.id, call.downloadId, call.length);
      case 'not-saved':
        return this.#onNotSaved(call.id, new MillraceError(call.code, call.message));
    }
  }

  /** To be called a few times a second. */
  tick(): void {
    const now = this.#o.now();
    const flush = now - this.#flushedAt >= FLUSH_MS;
    if (flush) this.#flushedAt = now;
    for (const [id, run] of this.#runs) {
      if (run.tick()) this.#changed = true;
      if (flush) void this.#keep(id, run);
    }
    const saving = [...this.#records.values()].some(isAtBrowser);
    if (this.#runs.size > 0 || this.#offers.size > 0 || saving) this.#busyAt = now;
    if (this.#changed) this.#o.emit({ event: 'changed' });
    this.#changed = false;
    if (now - this.#busyAt < IDLE_MS) return;
    this.#busyAt = now;
    this.#o.emit({ event: 'idle' });
  }

  /** The network may have come back. */
  retryNow(): void {
    for (const run of this.#runs.values()) run.retryNow();
  }

  async #offer(offer: Offer): Promise<Record<string, never>> {
    if (this.#records.has(offer.handOff)) return {};
    if (!hasPlace(this.#records.values())) {
      throw new TakerError('refused', 'There are too many downloads already', 'queue-full');
    }
    const lack = lackOfRoom(await this.#o.estimate(), offer.length, this.#records.values());
    if (lack !== undefined) throw new TakerError('refused', lack, 'disk-full');
    const source = this.#source(offer.url, undefined, offer.headers);
    await this.#offers.prove(offer, (signal) => prove(source, offer, signal));
    return {};
  }

  async #commit(handOff: string): Promise<{ id: string }> {
    if (this.#records.has(handOff)) return { id: handOff };
    const proven = this.#offers.proven(handOff);
    if (proven === undefined) throw new TakerError('failed', 'There is no such offer');
    const { offer, validators } = proven;
    const record: DownloadRecord = {
      id: handOff,
      url: offer.url,
      fileName: safeFileName(offer.fileName),
      length: offer.length,
      promised: offer.length,
      validators,
      headers: offer.headers,
      edges: offer.edges,
      createdAt: this.#o.wallNow(),
      state: 'queued',
      storedBytes: 0,
    };
    await this.#put(record);
    this.#offers.drop(handOff);
    this.#kick();
    return { id: handOff };
  }

  #stateOf(handOff: string): OfferState {
    if (this.#records.has(handOff)) return { state: 'committed', id: handOff };
    return { state: this.#offers.state(handOff) };
  }

  #list() {
    return [...this.#records.values()]
      .sort((a, b) => b.createdAt - a.createdAt)
      .map((record) => shown(record, this.#runs.get(record.id)?.figures()));
  }

  async #add(links: Extract<EngineCall, { type: 'add' }>['links']): Promise<string[]> {
    const ids: string[] = [];
    for (const { url, fileName, headers, edges } of links) {
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) continue;
      if (!hasPlace(this.#records.values())) break;
      const id = this.#o.uuid();
      await this.#put({
        id,
        url,
        fileName: fileName === undefined ? nameFromUrl(url) : safeFileName(fileName),
        ...(fileName === undefined ? { nameIsGuess: true } : {}),
        headers,
        edges,
        createdAt: this.#o.wallNow(),
        state: 'queued',
        storedBytes: 0,
      });
      ids.push(id);
    }
    this.#kick();
    return ids;
  }

  async #command(id: string, command: 'pause' | 'resume' | 'remove') {
    const record = this.#known(id);
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
      if (next.anew) await this.#o.files.remove(id);
      await this.#put(next.record);
    }
    this.#kick();
    return {};
  }

  async #onSaving(id: string, url: string, downloadId: number) {
    const record = this.#known(id);
    if (isAtBrowser(record)) await this.#put({ ...record, save: { url, downloadId } });
    return {};
  }

  async #onSaved(id: string, downloadId: number, length: number) {
    const record = this.#records.get(id);
    if (record === undefined || !isAtBrowser(record)) return {};
    if (record.length !== undefined && record.length !== length) {
      const detail = `${length} of ${record.length} bytes came`;
      return this.#onNotSaved(id, new MillraceError('wrong-length', detail));
    }
    await this.#put(saved(record, downloadId, length));
    await this.#leave(id);
    return {};
  }

  async #onNotSaved(id: string, error: MillraceError) {
    const record = this.#known(id);
    if (!isAtBrowser(record)) return {};
    // The bytes are kept: going on with it saves them again.
    await this.#put(failed(record, error));
    this.#revoke(id);
    return {};
  }

  #known(id: string): DownloadRecord {
    const record = this.#records.get(id);
    if (record !== undefined) return record;
    throw new MillraceError('no-such-download');
  }

  /** Starts what has its turn. */
  #kick(): void {
    for (const record of toStart(this.#records.values(), this.#runs)) {
      const run = new Run((signal, run) => this.#run(record, run, signal), this.#o.now);
      this.#runs.set(record.id, run);
      void run.ended.then(() => {
        this.#runs.delete(record.id);
        this.#changed = true;
        this.#kick();
      });
    }
    this.#changed = true;
  }

  /** One download, until it is complete, fails, or is stopped. It never rejects. */
  async #run(given: DownloadRecord, run: Run, signal: AbortSignal): Promise<void> {
    const { id } = given;
    try {
      const record = await this.#discovered(given, signal);
      const { url, length = 0, validators = {}, headers } = record;
      const partial = await this.#o.files.open(id, { url, length, validators });
      const { fetch: _fetch, ...o } = this.#o;
      const sources = [
        ...edgesOf(record).map((edge) => this.#source(url, edge, {})),
        this.#source(url, undefined, headers),
      ];
      await run.fetch({
        ...o,
        partial,
        sources,
        slots: this.#slots,
        version: { length, validators },
        mayRepeat: !looksSigned(url),
        signal,
      });
      await this.#save(fetched(this.#known(id), ''));
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
      // What the browser fetches whole needs the room.
      if (next.state === 'browser') await this.#o.files.remove(id).catch(() => {});
      this.#emitSave(next);
    }
  }

  /** Asks what there is where that is not known yet, for as long as that takes. */
  async #discovered(record: DownloadRecord, signal: AbortSignal): Promise<DownloadRecord> {
    if (record.length !== undefined && record.validators !== undefined) return record;
    const source = this.#source(record.url, undefined, record.headers);
    const { health } = source;
    for (;;) {
      try {
        const { length, validators, opened } = await discover(source, signal);
        const lack = lackOfRoom(await this.#o.estimate(), length, this.#records.values());
        if (lack !== undefined) throw new MillraceError('disk-full', lack);
        const better = record.nameIsGuess ? nameInFields(opened.fields) : undefined;
        const fileName = better === undefined ? record.fileName : safeFileName(better);
        const next = { ...this.#known(record.id), length, validators, fileName };
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

  #source(url: string, edge: string | undefined, headers: Offer['headers']): FetchSource {
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

  /** Has the browser save what is complete; where it is not, it is fetched. */
  async #save(record: DownloadRecord): Promise<void> {
    const { id, length = 0, save } = record;
    try {
      const url = await this.#o.files.url(id, length);
      this.#urls.set(id, url);
      await this.#put({ ...record, save: save?.downloadId === undefined ? { url } : save });
    } catch {
      await this.#put({ ...record, state: 'queued', save: undefined, storedBytes: 0 });
    }
    this.#emitSave(this.#known(id));
  }

  #emitSave(record: DownloadRecord): void {
    const { id, fileName, length, save } = record;
    if (save === undefined || !isAtBrowser(record)) return;
    const { downloadId, url } = save;
    const event: Save = {
      id,
      url: this.#urls.get(id) ?? url,
      fileName,
      length,
      ...(downloadId === undefined ? {} : { begun: { url, downloadId } }),
    };
    this.#o.emit({ event: 'save', save: event });
  }

  /** Brings what has come to disk, and its amount into the record. */
  async #keep(id: string, run: Run): Promise<void> {
    await run.flush();
    const record = this.#records.get(id);
    const { storedBytes } = run.figures();
    if (record === undefined || record.storedBytes === storedBytes || !run.opened) return;
    if (this.#runs.get(id) === run) await this.#put({ ...record, storedBytes });
  }

  async #remove(record: DownloadRecord): Promise<void> {
    const { id } = record;
    this.#records.delete(id);
    await this.#o.records.remove(id);
    await this.#stop(id);
    await this.#leave(id);
    this.#changed = true;
  }

  async #stop(id: string): Promise<void> {
    const run = this.#runs.get(id);
    run?.stop();
    await run?.ended;
  }

  /** Nothing needs the file any more. */
  async #leave(id: string): Promise<void> {
    this.#revoke(id);
    await this.#o.files.remove(id);
  }

  #revoke(id: string): void {
    const url = this.#urls.get(id);
    if (url !== undefined) this.#o.files.revoke(url);
    this.#urls.delete(id);
  }

  async #put(record: DownloadRecord): Promise<void> {
    this.#records.set(record.id, record);
    this.#changed = true;
    await this.#o.records.put(record);
    for (const old of toForget(this.#records.values())) await this.#remove(old);
  }
}

function wrongState({ state }: DownloadRecord): MillraceError {
  return new MillraceError('wrong-state', `it is ${state}`);
}

/** Nobody is told of what is meant for one user: log-ins and signed links stay with the origin. */
function edgesOf({ url, headers, edges }: DownloadRecord): readonly string[] {
  const { username, password } = new URL(url);
  const own = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  return own || looksSigned(url) || username !== '' || password !== '' ? [] : edges;
}
