/** Holds the daemon's downloads, and the parts that carry out users' commands to them. */

import type { Note } from '@millrace/shared/base/notes';
import type { DownloadQueue } from '@millrace/shared/download/queue/queue';
import { AfterRunner } from '../after/after-runner.ts';
import { DescriptionFollower } from '../after/description-follower.ts';
import { SharedPieceCheck } from '../after/shared-piece-check.ts';
import { type WhenDoneOptions, WhenDoneWatch } from '../after/when-done-watch.ts';
import { inTurns } from '../platform/turns.ts';
import { Chores } from '../queue/chores.ts';
import type { Run } from '../queue/contract.ts';
import type { HostMemory } from '../queue/host-memory.ts';
import { QueueRunner, type QueueRunnerOptions } from '../queue/queue-runner.ts';
import { type ManagerEvent, Records } from '../queue/records.ts';
import { removeLeftJournals } from '../removal/left-journals.ts';
import { Remover } from '../removal/removing.ts';
import type { Trash } from '../removal/trash.ts';
import type { Resolvers } from '../resolvers/resolvers.ts';
import type { Limits, Settings } from '../settings/settings.ts';
import type { DownloadStore } from '../store/download-store.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { SettingStore } from '../store/small-stores.ts';
import type { TrashStore } from '../store/trash-store.ts';
import { Additions } from './additions.ts';
import { Changes, type ProveLink } from './changes.ts';
import { checkKept } from './check-kept.ts';
import type { NewDownload } from './download-schema.ts';
import { Line } from './line.ts';
import { followedDownloads, parseMetalinkDownloads } from './metalinks.ts';
import { Renewals } from './renewals.ts';
import { ResolvedLinks } from './resolved-links.ts';

export interface ManagerOptions
  extends Omit<QueueRunnerOptions, 'records' | 'renew'>,
    Pick<WhenDoneOptions, 'power'> {
  readonly store: DownloadStore;
  /** Store for pending deletions. */
  readonly settingStore: SettingStore;
  readonly trashStore: TrashStore;
  /** Default: accepts every new link. */
  readonly proveLink?: ProveLink;
  /** Returns the edges that `useEdges` stands for. */
  readonly edges?: () => readonly string[];
  /** Returns the edge among them that runs on this machine. */
  readonly localEdge?: () => string | undefined;
  /** Programs of the user that find links; undefined: none. */
  readonly resolvers?: Resolvers;
  /** Download folder, unless the settings name one. */
  readonly dir: string;
}

const acceptLink: ProveLink = async (_request, { length }) => ({ length, found: 'same' });

export class Manager {
  readonly #options: ManagerOptions;
  readonly #records: Records;
  readonly #additions: Additions;
  readonly #after: AfterRunner;
  readonly #shared: SharedPieceCheck;
  readonly #follower: DescriptionFollower;
  /** Runs downloads as the queue and the schedule decide. */
  readonly queueRunner: QueueRunner;
  /** Pauses, resumes, retries and reorders downloads. */
  readonly line: Line;
  /** Removes downloads, and restores them from the trash. */
  readonly remover: Remover;
  /** Changes downloads that have been added. */
  readonly changes: Changes;
  /** Lets the machine sleep or shut down when all downloads are done. */
  readonly whenDone: WhenDoneWatch;
  /** Links that programs of the user find. */
  readonly resolvedLinks: ResolvedLinks;
  /** Earlier downloads that added links continue. */
  readonly renewals: Renewals;
  /** Deletions and similar work in the background. */
  readonly #chores = new Chores();

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { settings, resolvers } = options;
    const records = new Records(options.store);
    const dir = () => this.dir;
    this.#records = records;
    this.queueRunner = new QueueRunner({
      ...{ ...options, records },
      renew: (record, signal) => this.resolvedLinks.renew(record, signal),
      judge: (gid, result, signal) => this.#shared.judge(gid, result, signal),
    });
    this.remover = new Remover({
      ...options,
      records,
      queueRunner: this.queueRunner,
      trashLimits: () => settings.app.trash,
    });
    this.line = new Line({
      records,
      queueRunner: this.queueRunner,
      remover: this.remover,
      chores: this.#chores,
    });
    this.#additions = new Additions({
      ...{ ...options, records, dir },
      edges: options.edges ?? (() => []),
      localEdge: options.localEdge ?? (() => undefined),
    });
    this.changes = new Changes({
      ...{ records, settings, dir, queueRunner: this.queueRunner },
      proveLink: options.proveLink ?? acceptLink,
    });
    this.resolvedLinks = new ResolvedLinks({ records, changes: this.changes, resolvers });
    this.#shared = new SharedPieceCheck({
      ...{ records, now: options.now },
      settled: (gid) => this.queueRunner.settled(gid),
      rest: (gids) => this.#after.rest(gids),
      tick: () => this.queueRunner.tick(),
    });
    this.#after = new AfterRunner({
      ...{ ...options, records, dir },
      settled: (gid) => this.queueRunner.settled(gid),
    });
    this.#follower = new DescriptionFollower({
      ...{ records, settled: (gid) => this.queueRunner.settled(gid) },
      rest: (gids) => this.#after.rest(gids),
      read: async (document, record) => {
        const { urls, proxy } = record.request;
        const files = await parseMetalinkDownloads(document, options.now(), {
          base: urls[0],
          proxy,
        });
        return (also) => this.#enqueue(followedDownloads(files, record), also);
      },
    });
    this.whenDone = new WhenDoneWatch({ ...options, records, after: this.#after });
    this.renewals = new Renewals({
      records,
      additions: this.#additions,
      changes: this.changes,
      add: (asked) => this.add(asked),
      dir,
      now: options.now,
    });
  }

  get settings(): Settings {
    return this.#options.settings;
  }

  get hosts(): HostMemory {
    return this.#options.hosts;
  }

  get store(): DownloadStore {
    return this.#records.store;
  }

  get queue(): DownloadQueue {
    return this.#records.queue;
  }

  /** Download folder. */
  get dir(): string {
    return this.settings.dir ?? this.#options.dir;
  }

  /** Loads the queue as the last run left it, and starts it. */
  start(): void {
    this.#records.load();
    this.remover.start();
    this.queueRunner.start();
    this.#shared.start();
    this.#after.start();
    this.#follower.start();
    const isTaken = (path: string, by: string) => this.#records.isTaken(path, by);
    void this.#chores.add(removeLeftJournals(this.store, this.#options.createDownload, isTaken));
  }

  /** Reads all stored rows, so that unreadable ones are left out of every total. */
  async checkKept(signal: AbortSignal): Promise<void> {
    const trash = this.trash.store;
    await checkKept(
      [this.store, trash],
      (table, gids) =>
        this.#records.emit(table === trash ? { kind: 'trash' } : { kind: 'forgotten', gids }),
      signal,
    );
  }

  /** Interrupts running downloads; they continue at the next start. */
  async close(): Promise<void> {
    this.whenDone.close();
    this.#follower.close();
    this.#options.resolvers?.close();
    await Promise.all([this.queueRunner.close(), this.#after.close(), this.#shared.close()]);
    await this.remover.close();
    await this.#chores.done();
  }

  /** Adds a listener for events. @returns a function that removes it */
  listen(listener: (event: ManagerEvent) => void): () => void {
    return this.#records.listen(listener);
  }

  /** Returns the running download; undefined if it does not run. */
  running(gid: string): Run | undefined {
    return this.queueRunner.running(gid);
  }

  /** Returns unfinished downloads: running ones, then the queue in order. */
  unfinished(): DownloadRecord[] {
    return this.#records.unfinished();
  }

  /** Returns an unfinished download. */
  find(gid: string): DownloadRecord | undefined {
    return this.#records.find(gid);
  }

  /**
   * Returns a download.
   *
   * @param gid the whole gid, or any unambiguous beginning of it
   * @throws MillraceError `no-such-download`
   */
  get(gid: string): DownloadRecord {
    return this.#records.get(gid);
  }

  /** Makes the record that `add` would add. @throws MillraceError as `add` */
  draft(asked: NewDownload): DownloadRecord {
    return this.#additions.draft(asked);
  }

  /**
   * Adds a download. @throws MillraceError if the request cannot be downloaded: nothing is added
   */
  add(asked: NewDownload): DownloadRecord {
    return this.addAll([asked])[0] as DownloadRecord;
  }

  /** Adds all of the downloads, or none. */
  addAll(asked: readonly NewDownload[]): DownloadRecord[] {
    return this.#enqueue(asked).map((gid) => this.get(gid));
  }

  #enqueue(asked: readonly NewDownload[], also?: () => void): readonly string[] {
    const gids = this.#additions.enqueue(asked, also);
    this.queueRunner.tick();
    return gids;
  }

  /** Groups many changes: they are stored together, and the queue decides once after them. */
  atOnce<T>(work: () => T): T {
    return this.queueRunner.hold(() => this.store.atOnce(work));
  }

  /**
   * Works through a long list in short turns. The changes of each turn are stored together, and the
   * queue decides once after all of them, so that the order of the list does not matter to it.
   */
  async inTurns<T>(list: Iterable<T>, work: (item: T, index: number) => void): Promise<void> {
    const { queueRunner, store } = this;
    await queueRunner.holdWhile(() => inTurns(list, work, (turn) => store.atOnce(turn)));
  }

  /** Adds a finished download from another list to the history; see `Additions.addFinished`. */
  addFinished(
    asked: NewDownload,
    ended: Pick<DownloadRecord, 'state' | 'finishedAt' | 'createdAt'> & Partial<DownloadRecord>,
    isFollowed = false,
  ): DownloadRecord {
    return this.#additions.addFinished(asked, ended, isFollowed);
  }

  /** The removed downloads. */
  get trash(): Trash {
    return this.remover.trash;
  }

  /**
   * Takes a finished download out of the history. @returns false if the download is not finished
   */
  forget(gid: string): boolean {
    return this.#records.forget(gid);
  }

  /** Writes a note into a download's log, and tells listeners. */
  note(gid: string, note: Note): void {
    this.#records.emit({ kind: 'note', gid, ...note });
  }

  /** Sets the limits for all downloads. */
  setLimits(limits: Limits): void {
    this.settings.limits = limits;
    this.settingsChanged();
  }

  /** Applies changed settings: to be called after the schedule or any other setting has changed. */
  settingsChanged(): void {
    this.trash.sweep();
    this.#after.look();
    this.whenDone.look();
    this.queueRunner.tick();
    this.#records.emit({ kind: 'settings' });
  }
}
