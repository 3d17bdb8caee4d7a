/** A manager over a real database, with downloads and a clock that the test controls. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { ProveLink } from '../engine/downloads/changes.ts';
import { Manager } from '../engine/downloads/manager.ts';
import type {
  DownloadFactory,
  Run,
  RunContext,
  RunProgress,
  RunResult,
} from '../engine/queue/contract.ts';
import { HostMemory } from '../engine/queue/host-memory.ts';
import { SharedRate } from '../engine/queue/shared-rate.ts';
import type { Resolvers } from '../engine/resolvers/resolvers.ts';
import { Settings } from '../engine/settings/settings.ts';
import { damageTeller } from '../engine/store/damaged-rows.ts';
import { openDatabase } from '../engine/store/database.ts';
import { DetailStore } from '../engine/store/detail-store.ts';
import { DownloadStore } from '../engine/store/download-store.ts';
import { HostStore, SettingStore } from '../engine/store/small-stores.ts';
import { TrashStore } from '../engine/store/trash-store.ts';
import { DownloadLogs } from '../engine/views/download-logs.ts';

export const T0 = Date.UTC(2026, 10, 21, 12);
export const LENGTH = 1000;

export class FakeRun implements Run {
  readonly request: DownloadRequest;
  readonly described = new Promise<never>(() => {});
  readonly #context: RunContext;
  readonly #end = Promise.withResolvers<RunResult>();
  storedBytes = 0;
  limit: number | undefined;
  /** True if the run ignores the order to stop. */
  lingers = false;

  constructor(request: DownloadRequest, context: RunContext) {
    this.request = request;
    this.limit = request.limit;
    this.#context = context;
    context.signal.addEventListener('abort', () => {
      if (!this.lingers) this.#end.reject(new MillraceError('interrupted'));
    });
  }

  get path(): string {
    return join(this.request.dir, this.request.file ?? 'x.bin');
  }

  run(): Promise<RunResult> {
    const { path } = this;
    this.#context.onEvent({ kind: 'start', path, length: LENGTH, resumedBytes: 0, via: 'a' });
    return this.#end.promise;
  }

  async settle(): Promise<void> {}

  note(text: string): void {
    this.#context.onEvent({ kind: 'note', ...noteOf('system', { text }) });
  }

  complete(): Promise<void> {
    this.storedBytes = LENGTH;
    const { path } = this;
    this.#end.resolve({ path, bytes: LENGTH, receivedBytes: LENGTH, resumedBytes: 0 });
    return settled();
  }

  fail(error: MillraceError): Promise<void> {
    this.#end.reject(error);
    return settled();
  }

  progress(): RunProgress {
    const { storedBytes, path } = this;
    return {
      state: 'running',
      path,
      length: LENGTH,
      storedBytes,
      receivedBytes: storedBytes,
      bytesPerSecond: storedBytes / 10,
      sources: [
        {
          label: 'a.example',
          url: this.request.urls[0] as string,
          kind: 'origin',
          state: 'used',
          bytesPerSecond: storedBytes / 10,
          receivedBytes: storedBytes,
          connections: 2,
          resets: 0,
          rttMs: 12.34,
        },
      ],
      digests: [],
      strip: (cells) =>
        Array.from({ length: cells }, (_, i) =>
          Math.min(1, Math.max(0, (storedBytes / LENGTH) * cells - i)),
        ),
      brought: (cells) => new Array<number>(cells).fill(storedBytes > 0 ? 0 : -1),
    };
  }

  setLimit(bytesPerSecond: number | undefined): void {
    this.limit = bytesPerSecond;
  }

  addUrl(): void {}
  prefer(): void {}
  read(): Promise<number> {
    return Promise.resolve(0);
  }
}

export class FakeDaemon {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  readonly runs: FakeRun[] = [];
  /** Lines of the daemon's log. */
  readonly notes: string[] = [];
  readonly removedPartials: string[] = [];
  readonly movedPartials: string[][] = [];
  /** Stands in for the comparison with a new link; undefined: every link is the file's. */
  readonly #proveLink: ProveLink | undefined;
  readonly #resolvers: (() => Resolvers) | undefined;
  now = T0;
  db!: DatabaseSync;
  manager!: Manager;
  downloadLogs!: DownloadLogs;

  constructor(proveLink?: ProveLink, resolvers?: () => Resolvers) {
    this.#proveLink = proveLink;
    this.#resolvers = resolvers;
    this.open();
  }

  open(): void {
    this.db = openDatabase(join(this.folder, 'downloads.db'), this.now).db;
    const tell = damageTeller((text) => this.notes.push(text));
    const settingStore = new SettingStore(this.db, tell);
    const now = () => this.now;
    const createDownload: DownloadFactory = Object.assign(
      (request: DownloadRequest, context: RunContext) => {
        const run = new FakeRun(request, context);
        this.runs.push(run);
        return run;
      },
      {
        removePartial: async (path: string) => {
          this.removedPartials.push(path);
        },
        removeJournal: async () => {},
        movePartial: async (from: string, to: string) => {
          this.movedPartials.push([from, to]);
          return 0;
        },
      },
    );
    this.manager = new Manager({
      store: new DownloadStore(this.db, tell),
      settingStore,
      trashStore: new TrashStore(this.db, tell),
      settings: new Settings(settingStore),
      hosts: new HostMemory(new HostStore(this.db, tell), now),
      rate: new SharedRate(now),
      createDownload,
      dir: this.folder,
      ...(this.#proveLink === undefined ? {} : { proveLink: this.#proveLink }),
      ...(this.#resolvers === undefined ? {} : { resolvers: this.#resolvers() }),
      now,
      random: () => 0.5,
    });
    const store = new DetailStore(this.db, tell);
    this.downloadLogs = new DownloadLogs({ manager: this.manager, store, now, clock: now });
    this.manager.start();
  }

  /** Closes the manager and its database as a daemon does at its end. */
  async shut(): Promise<void> {
    this.downloadLogs.close();
    await this.manager.close();
    this.db.close();
  }

  async remove(): Promise<void> {
    await this.shut();
    rmSync(this.folder, { recursive: true, force: true });
  }

  add(name: string, more: object = {}): string {
    return this.manager.add({ urls: [`http://${name}.example/${name}.bin`], ...more }).gid;
  }

  /** Adds a download and waits until it runs. */
  async run(name: string, more: object = {}): Promise<{ gid: string; run: FakeRun }> {
    const before = this.runs.length;
    const gid = this.add(name, more);
    await until(() => this.runs.length > before);
    return { gid, run: this.runs.at(-1) as FakeRun };
  }
}

/** Waits until a condition holds; the test's own time limit ends a futile wait. */
export async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits a few turns of the event loop, so that promises can settle. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
