/**
 * One download from beginning to end: attempts follow until one has fetched the whole file, which
 * then gets its final name.
 */

import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import { FileReader } from '../partial/file-reader.ts';
import { SegmentPool } from '../partial/segment-pool.ts';
import { AwakeTime } from '../platform/awake-time.ts';
import { markDownloaded } from '../platform/mark-downloaded.ts';
import { Connections } from '../sources/connections.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { Attempt, type Fetched } from './attempt.ts';
import { progressOf } from './download-progress.ts';
import { DownloadReport } from './download-report.ts';
import type {
  Described,
  DownloadContext,
  DownloadProgress,
  DownloadResult,
} from './download-types.ts';
import { OtherWays } from './other-ways.ts';
import { AdjustableLimit, type RateLimit } from './rate-limit.ts';
import { TargetFile } from './target-file.ts';

export type {
  Described,
  DownloadContext,
  DownloadEvent,
  DownloadProgress,
  DownloadResult,
} from './download-types.ts';

/** Restarts allowed for a file that keeps changing during its download. */
const MAX_RESTARTS = 3;

export class Download {
  readonly #request: DownloadRequest;
  readonly #exnode: ReadableExnode | undefined;
  readonly #context: DownloadContext;
  readonly #time = new AwakeTime();
  readonly #report: DownloadReport;
  readonly #limit: AdjustableLimit;
  readonly #limits: readonly RateLimit[];
  readonly #pool = new SegmentPool();
  readonly #reader = new FileReader();
  readonly #addedUrls: string[] = [];
  readonly #described = Promise.withResolvers<Described>();
  readonly #target: TargetFile;
  readonly #ways = new OtherWays();
  #preferred: number | undefined;
  #contentType: string | undefined;
  /** The latest attempt. */
  #attempt: Attempt | undefined;

  /** @param exnode description of the file by its parts: only places that it names are asked */
  constructor(request: DownloadRequest, context: DownloadContext, exnode?: ReadableExnode) {
    this.#request = request;
    this.#exnode = exnode;
    this.#context = context;
    const now = () => performance.now();
    this.#report = new DownloadReport(context.onEvent, now);
    this.#limit = new AdjustableLimit(request.limit, now);
    this.#limits = [this.#limit, ...(context.rateLimits ?? [])];
    this.#target = new TargetFile({
      request,
      context,
      report: this.#report,
      onStored: () => {
        this.#attempt?.onStored();
        this.#reader.wake();
      },
      onLost: (ranges) => {
        for (const range of ranges) this.#attempt?.discard(range);
      },
    });
    // The promise may have no reader: its rejection must not count as unhandled.
    this.#described.promise.catch(() => {});
  }

  /**
   * Resolves once the file's description and path are known. @throws the errors of `run` before
   * then
   */
  get described(): Promise<Described> {
    return this.#described.promise;
  }

  /**
   * Runs to the end.
   *
   * @throws MillraceError; `interrupted` when the signal aborts. A resumable partial file stays.
   */
  async run(): Promise<DownloadResult> {
    let connections: Connections | undefined;
    try {
      this.#time.start();
      connections = await Connections.open(this.#request);
      for (let attempts = 1; ; attempts++) {
        const attempt = this.#newAttempt(connections);
        this.#attempt = attempt;
        try {
          const result = await this.#finish(await attempt.run());
          if (this.#context.settles !== true) await this.settle(true);
          return result;
        } catch (error) {
          if (this.#context.signal.aborted) throw error;
          this.#ways.noteStated(named(attempt.sources.sources));
          const note = attempts < MAX_RESTARTS ? restartNote(error) : undefined;
          const way = note ?? this.#otherWay(error, attempt);
          // A mismatch with the user's digest tells the user more than the last way's failure.
          if (way === undefined) throw this.#ways.wrongParts ?? this.#ways.wrongWhole ?? error;
          this.#reader.restart();
          this.#report.note(way);
        }
      }
    } catch (thrown) {
      const ended = this.#context.signal.aborted
        ? new MillraceError('interrupted')
        : asMillraceError(thrown);
      const error = this.#attempt?.isOnePiece === true ? ended.ofOnePiece() : ended;
      this.#described.reject(error);
      this.#reader.fail(error);
      throw error;
    } finally {
      this.#time.stop();
      await this.#target.leave();
      await connections?.close();
    }
  }

  /**
   * Releases the complete file. Does nothing if there is none.
   *
   * @param written true if the completion has been recorded; otherwise the next run finds the file
   *   complete
   * @throws MillraceError of the folder
   */
  async settle(written: boolean): Promise<void> {
    await this.#target.settle(written);
  }

  progress(): DownloadProgress {
    return progressOf({
      report: this.#report,
      target: this.#target,
      length: this.#attempt?.findings.length,
      sources: this.#attempt?.sources,
      said: this.#attempt?.findings.said ?? [],
    });
  }

  /** Changes when `read` begins to give the bytes of another version of the file. */
  get generation(): number {
    return this.#reader.generation;
  }

  /** Sets the limit of this download from now on; undefined: no limit. */
  setLimit(bytesPerSecond: number | undefined): void {
    this.#limit.set(bytesPerSecond);
  }

  /** Adds a URL of the same file: it is used once it is shown to hold the same bytes. */
  addUrl(url: string): void {
    this.#addedUrls.push(url);
    this.#attempt?.addMirror(url);
  }

  /** Sets the position from which bytes are wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    this.#preferred = position;
    this.#attempt?.prefer(position);
  }

  /**
   * Reads stored bytes, and waits until there is at least one at the position.
   *
   * @returns number of bytes read; 0 at the end of the file
   * @throws the download's final error; the signal's reason
   */
  read(into: Buffer, position: number, signal: AbortSignal): Promise<number> {
    return this.#reader.read(into, position, signal);
  }

  #newAttempt(connections: Connections): Attempt {
    return new Attempt({
      request: this.#request,
      exnode: this.#exnode,
      context: this.#context,
      report: this.#report,
      connections,
      target: this.#target,
      pool: this.#pool,
      limits: this.#limits,
      now: this.#time.now,
      excludes: (id) => this.#ways.excludes(id),
      asksForWhole: this.#ways.asksForWhole,
      stated: this.#ways.stated,
      isAfterWrong: this.#ways.wrongParts !== undefined,
      addedUrls: this.#addedUrls,
      preferred: this.#preferred,
      earlier: this.#attempt?.findings,
      onOpened: (file, described) => {
        this.#reader.begin(file);
        this.#contentType = described.contentType;
        this.#described.resolve(described);
      },
    });
  }

  /** Gives the complete file its final name. */
  async #finish({ url, length, digest, vouch, resumedBytes }: Fetched): Promise<DownloadResult> {
    const path = await this.#target.finish(length);
    this.#reader.finished(path);
    const note = await markDownloaded(path, {
      url,
      referrer: this.#request.headers.referer,
    });
    if (note !== undefined) this.#report.note(noteOf('system', { text: note }));
    const { receivedBytes } = this.#report;
    const contentType = this.#contentType;
    return { path, bytes: length, receivedBytes, resumedBytes, digest, vouch, contentType };
  }

  #otherWay(error: unknown, { sources, first, findings }: Attempt): Note | undefined {
    const storedBytes = this.#target.partial?.stored.bytes ?? 0;
    const { digests, pieces } = this.#request;
    // All places are asked in the same way, and blamed by digests.
    if (this.#exnode !== undefined) return undefined;
    // A whole answer that was wrong is not asked for again.
    const isByRanges = first?.opened.kind !== 'whole';
    const isGiven = digests.length > 0 || (pieces !== undefined && pieces.from === undefined);
    return this.#ways.next(error, named(sources.sources), first?.source, storedBytes, {
      proves: isByRanges && isGiven,
      isSaid: isByRanges && findings.said.length > 0,
      provesWhole: !isByRanges && isGiven,
    });
  }
}

/** Returns the sources that somebody has named: only these can say what the file is. */
function named(sources: readonly DownloadSource[]): DownloadSource[] {
  return sources.filter(({ kind }) => kind !== 'house');
}

/** Returns the note for a download that starts over by itself; undefined: it does not. */
function restartNote(error: unknown): Note | undefined {
  if (isMillraceError(error, 'version-changed')) {
    return noteOf('new-version');
  }
  if (isMillraceError(error, 'file-changed')) {
    return noteOf('partial-changed');
  }
  return undefined;
}
