/** A manager for tests, over a real database, with downloads and a clock that the test controls. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { Manager } from '../engine/downloads/manager.ts';
import type { DownloadFactory, RunContext } from '../engine/queue/contract.ts';
import { HostMemory } from '../engine/queue/host-memory.ts';
import type { ManagerEvent } from '../engine/queue/records.ts';
import { SharedRate } from '../engine/queue/shared-rate.ts';
import { Settings } from '../engine/settings/settings.ts';
import { openDatabase } from '../engine/store/database.ts';
import { DownloadStore } from '../engine/store/download-store.ts';
import { HostStore, SettingStore } from '../engine/store/small-stores.ts';
import { TrashStore } from '../engine/store/trash-store.ts';
import { ScriptedRun } from './scripted-run.ts';

export const T0 = Date.UTC(2026, 10, 21, 12);
export const MINUTE = 60_000;

export class ManagerStage {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  now = T0;
  db!: DatabaseSync;
  runs: ScriptedRun[] = [];
  /** Partial files that have been deleted; `moved` has the old and new paths of moved ones. */
  removed: string[] = [];
  /** Files whose journals the manager has deleted. */
  journals: string[] = [];
  moved: string[][] = [];
  /** Deleting a partial file waits for this promise. */
  deletion: Promise<void> = Promise.resolve();
  /** Kinds of the events of single downloads. */
  events: string[] = [];
  /** Reports another network; set while a run waits for one. */
  changeNetwork: (() => void) | undefined;
  /** Commands that would have let the machine sleep or shut down. */
  power: (readonly string[])[] = [];
  rate!: SharedRate;
  manager!: Manager;
  /** The open manager; a closed manager starts nothing any more. */
  #open: Manager | undefined;

  constructor() {
    this.open();
  }

  /** Starts a daemon on the state that the previous one has left. */
  open(): void {
    this.db = openDatabase(join(this.folder, 'downloads.db'), this.now).db;
    this.runs = [];
    this.changeNetwork = undefined;
    this.removed = [];
    this.moved = [];
    this.deletion = Promise.resolve();
    this.events = [];
    this.rate = new SharedRate(() => this.now);
    const settingStore = new SettingStore(this.db);
    this.manager = new Manager({
      store: new DownloadStore(this.db),
      settingStore,
      trashStore: new TrashStore(this.db),
      settings: new Settings(settingStore),
      hosts: new HostMemory(new HostStore(this.db), () => this.now),
      rate: this.rate,
      createDownload: this.#factory(),
      dir: this.folder,
      now: () => this.now,
      random: () => 0.5,
      power: async (command) => void this.power.push(command),
      networkChange: (signal) =>
        new Promise((resolve) => {
          this.changeNetwork = () => resolve(true);
          signal.addEventListener('abort', () => resolve(false));
        }),
    });
    this.manager.listen((event: ManagerEvent) => {
      if (event.kind === 'changed' || event.kind === 'stand') return;
      if ('gid' in event) this.events.push(event.kind);
    });
    this.manager.start();
    this.#open = this.manager;
  }

  async shut(): Promise<void> {
    this.#open = undefined;
    for (const run of this.runs) run.lingers = false;
    await this.manager.close();
    this.db.close();
  }

  async clear(): Promise<void> {
    await this.shut();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Lets all decided steps happen; does not wait for steps that the end of the daemon prevents. */
  async settled(): Promise<void> {
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 5; i++) await turn();
    const lingering = () => this.runs.some((run) => run.lingers && run.context.signal.aborted);
    const { manager } = this;
    const starting = () =>
      manager === this.#open &&
      manager.queue.active.some(({ gid }) => manager.running(gid) === undefined) &&
      !lingering();
    while (starting()) await turn();
  }

  async add(part: object = {}): Promise<string> {
    const { gid } = this.manager.add({ urls: ['http://a.example/x.bin'], ...part });
    await this.settled();
    return gid;
  }

  /** Moves the clock on, and lets the timers fire. */
  async later(ms: number): Promise<void> {
    this.now += ms;
    this.manager.settingsChanged();
    await this.settled();
  }

  last(): ScriptedRun {
    return this.runs.at(-1) as ScriptedRun;
  }

  #factory(): DownloadFactory {
    const create = (request: DownloadRequest, context: RunContext) => {
      const run = new ScriptedRun(request, context, () => this.settled());
      this.runs.push(run);
      return run;
    };
    return Object.assign(create, {
      removePartial: async (path: string) => {
        await this.deletion;
        this.removed.push(path);
      },
      removeJournal: async (path: string) => {
        this.journals.push(path);
      },
      movePartial: async (path: string, to: string) => {
        this.moved.push([path, to]);
        return 0;
      },
    });
  }
}
