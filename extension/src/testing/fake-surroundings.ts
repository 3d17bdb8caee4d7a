/**
 * Fake surroundings of the engine for tests, in memory, with a clock that advances as tests wait.
 */

import { afterEach } from '@jest/globals';
import type { Random } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { EngineCall, EngineMessage, Save } from '../contract/protocol.ts';
import { Engine } from '../engine/downloads/engine.ts';
import type { DownloadRecord } from '../engine/records/record.ts';
import type { EngineRecords } from '../engine/records/records.ts';
import type { StorageEstimate } from '../engine/records/room.ts';
import type { Fetch } from '../engine/sources/fetch-source.ts';
import type { EngineFiles } from '../engine/storage/files.ts';
import { Partial, type SyncFile } from '../engine/storage/opfs-store.ts';

/** A file in memory that can lose unflushed bytes. */
export class MemoryFile implements SyncFile {
  bytes = new Uint8Array(0);
  #onDisk = new Uint8Array(0);
  /** Most bytes that the file can hold. */
  room = Number.POSITIVE_INFINITY;

  read(into: Uint8Array, { at }: { at: number }): number {
    const part = this.bytes.subarray(at, at + into.length);
    into.set(part);
    return part.length;
  }

  write(bytes: Uint8Array, { at }: { at: number }): number {
    const end = at + bytes.length;
    if (end > this.room) throw full();
    if (end > this.bytes.length) this.truncate(end);
    this.bytes.set(bytes, at);
    return bytes.length;
  }

  truncate(bytes: number): void {
    if (bytes > this.room) throw full();
    const other = new Uint8Array(bytes);
    other.set(this.bytes.subarray(0, bytes));
    this.bytes = other;
  }

  getSize(): number {
    return this.bytes.length;
  }

  flush(): void {
    this.#onDisk = this.bytes.slice();
  }

  close(): void {}

  copy(): MemoryFile {
    const copy = new MemoryFile();
    copy.bytes = this.bytes.slice();
    return copy;
  }

  /** Simulates a power cut: each page with unflushed bytes keeps or loses them. */
  lose(random: Random, pageBytes: number): void {
    const after = this.bytes;
    this.bytes = new Uint8Array(random() < 0.5 ? after.length : this.#onDisk.length);
    this.bytes.set(this.#onDisk.subarray(0, this.bytes.length));
    for (let at = 0; at < this.bytes.length; at += pageBytes) {
      const end = Math.min(this.bytes.length, at + pageBytes);
      if (random() < 0.5) this.bytes.set(after.subarray(at, end), at);
    }
  }
}

function full(): Error {
  return Object.assign(new Error('no space'), { name: 'QuotaExceededError' });
}

class MemoryFiles implements EngineFiles {
  readonly files = new Map<string, { data: MemoryFile; journal: MemoryFile }>();
  readonly urls = new Map<string, Uint8Array>();
  room = Number.POSITIVE_INFINITY;
  #made = 0;

  /** Returns a copy of the files, which users of the open originals cannot change. */
  copy(): MemoryFiles {
    const copy = new MemoryFiles();
    for (const [id, { data, journal }] of this.files) {
      copy.files.set(id, { data: data.copy(), journal: journal.copy() });
    }
    return copy;
  }

  async open(id: string, header: Parameters<EngineFiles['open']>[1]): Promise<Partial> {
    const there = this.files.get(id) ?? { data: new MemoryFile(), journal: new MemoryFile() };
    this.files.set(id, there);
    there.data.room = this.room;
    return Partial.open(there.data, there.journal, header);
  }

  async url(id: string, length: number): Promise<string> {
    const bytes = this.files.get(id)?.data.bytes;
    if (bytes?.length !== length) throw new MillraceError('file-changed');
    const url = `blob:${id}/${++this.#made}`;
    this.urls.set(url, bytes);
    return url;
  }

  revoke(url: string): void {
    this.urls.delete(url);
  }

  async remove(id: string): Promise<void> {
    this.files.delete(id);
  }

  async ids(): Promise<string[]> {
    return [...this.files.keys()];
  }
}

class MemoryRecords implements EngineRecords {
  readonly records = new Map<string, DownloadRecord>();

  async all(): Promise<DownloadRecord[]> {
    return structuredClone([...this.records.values()]);
  }

  async put(record: DownloadRecord): Promise<void> {
    this.records.set(record.id, structuredClone(record));
  }

  async remove(id: string): Promise<void> {
    this.records.delete(id);
  }
}

/** Worlds of the current test. Their engines would wait and retry for as long as Jest lives. */
const worlds: World[] = [];
afterEach(() => {
  for (const world of worlds.splice(0)) world.end();
});

/** Holds an engine that can be ended and started again over the same files and records. */
export class World {
  files = new MemoryFiles();
  records = new MemoryRecords();
  readonly saves: Save[] = [];
  readonly events: string[] = [];
  estimate: StorageEstimate = {};
  now = 1000;
  /** The latest engine. */
  engine: Engine | undefined;
  readonly #fetch: Fetch;
  readonly #random: Random;
  #made = 0;
  #crashes = 0;

  constructor(fetch: Fetch, random: Random) {
    this.#fetch = fetch;
    this.#random = random;
    worlds.push(this);
  }

  /** Ends all engines so far: what they wait for never comes. */
  end(): void {
    this.#crashes++;
  }

  /** Ends all engines so far, at any point of their work. */
  async crash(): Promise<void> {
    this.end();
    this.files = this.files.copy();
    const records = new MemoryRecords();
    for (const record of await this.records.all()) await records.put(record);
    this.records = records;
    this.saves.splice(0);
  }

  async start(): Promise<Engine> {
    const crashes = this.#crashes;
    this.engine = await Engine.open({
      records: this.records,
      files: this.files,
      fetch: async (url, init) => {
        const response = await this.#fetch(url, init);
        // An engine that has ended gets no answers any more.
        return crashes === this.#crashes ? response : new Promise(() => {});
      },
      estimate: async () => this.estimate,
      uuid: () => `made-${++this.#made}`,
      random: this.#random,
      now: () => this.now,
      wallNow: () => this.now,
      wait: (ms, signal) => this.#wait(ms, signal, crashes),
      emit: (message) => {
        if (crashes === this.#crashes) this.#onEvent(message);
      },
    });
    return this.engine;
  }

  /** Waits until a condition on the records is true; the engine's clock ticks meanwhile. */
  async until(engine: Engine, done: (records: readonly DownloadRecord[]) => boolean) {
    for (let turns = 0; !done([...this.records.records.values()]); turns++) {
      if (turns > 20_000) throw new Error('it never came true');
      await turn();
      this.now += 10;
      if (turns % 20 === 0) engine.tick();
    }
  }

  /** Lets the browser save all pending files completely, and report it. @returns the saved bytes */
  async saveAll(engine: Engine): Promise<Uint8Array[]> {
    const saved: Uint8Array[] = [];
    for (const [index, { id, url, fileName }] of this.saves.splice(0).entries()) {
      const bytes = (this.files.urls.get(url) ?? new Uint8Array(0)).slice();
      saved.push(bytes);
      await engine.call({ type: 'saving', id, url, downloadId: index });
      const file = { downloadId: index, length: bytes.length, fileName };
      await engine.call({ type: 'saved', id, file });
    }
    return saved;
  }

  #onEvent(message: Extract<EngineMessage, { event: string }>): void {
    this.events.push(message.event);
    if (message.event === 'save') this.saves.push(message.save);
  }

  async #wait(ms: number, signal: AbortSignal, crashes: number): Promise<void> {
    const until = this.now + ms;
    while (this.now < until && !signal.aborted) {
      await turn();
      if (crashes !== this.#crashes) return new Promise(() => {});
      this.now += 1;
    }
  }
}

export const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

/** Returns an offer of a file that `FakeOrigin` has. */
export function offerOf(
  url: string,
  length: number,
  more: object = {},
): Extract<EngineCall, { type: 'offer' }> {
  const fileName = url.slice(url.lastIndexOf('/') + 1);
  const offer = { handOff: url, url, finalUrl: url, fileName, length, etag: '"1"', headers: {} };
  return { type: 'offer', offer: { ...offer, edges: [], ...more } };
}
