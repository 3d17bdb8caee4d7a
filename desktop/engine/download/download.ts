/**
 * One download from beginning to end: finds out what the file is, opens the partial file, fetches
 * what is missing from all sources, checks the whole, and gives it its name.
 */

import type { Digest } from '@millrace/shared/base/digest';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf, noteOfError } from '@millrace/shared/base/notes';
import { type OriginAnswer, reasonInAnswer } from '@millrace/shared/download/request/edge-use';
import { homeReasonText } from '@millrace/shared/download/request/home-reason';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { SourceVersion } from '@millrace/shared/download/transfer/same-file';
import { listField } from '@millrace/shared/http/fields/headers';
import { mayBeTold } from '@millrace/shared/http/urls/public-host';
import { FileReader } from '../partial/file-reader.ts';
import type { PartialFile } from '../partial/partial-file.ts';
import { SegmentPool } from '../partial/segment-pool.ts';
import { markDownloaded } from '../platform/mark-downloaded.ts';
import { Connections } from '../sources/connections.ts';
import type { HttpSource } from '../sources/http-source.ts';
import { type First, isPinnable, openFirst } from '../sources/opening.ts';
import { versionOf } from '../sources/sample-check.ts';
import { isPage, type Opened } from '../sources/source-answer.ts';
import { SourceSet } from '../sources/source-set.ts';
import { BlockDownload } from './block-download.ts';
import { progressOf } from './download-progress.ts';
import { DownloadReport } from './download-report.ts';
import type {
  Described,
  DownloadContext,
  DownloadProgress,
  DownloadResult,
} from './download-types.ts';
import type { DownloadWay, SaidDigest } from './download-way.ts';
import { OtherWays } from './other-ways.ts';
import { AdjustableLimit, type RateLimit, takeFromAll } from './rate-limit.ts';
import { streamDownload } from './stream-download.ts';
import { TargetFile, type UnsizedVersion } from './target-file.ts';

export type {
  Described,
  DownloadContext,
  DownloadEvent,
  DownloadProgress,
  DownloadResult,
} from './download-types.ts';

/** A file that changes this often while it is being downloaded is left alone. */
const MAX_RESTARTS = 3;

export class Download {
  readonly #request: DownloadRequest;
  readonly #context: DownloadContext;
  readonly #now = () => performance.now();
  #connections: Connections | undefined;
  readonly #report: DownloadReport;
  readonly #limit: AdjustableLimit;
  readonly #limits: readonly RateLimit[];
  readonly #pool = new SegmentPool();
  readonly #reader = new FileReader();
  readonly #addedUrls: string[] = [];
  readonly #described = Promise.withResolvers<Described>();
  #sources: SourceSet | undefined;
  #blocks: BlockDownload | undefined;
  readonly #target: TargetFile;
  #length: number | undefined;
  #preferred: number | undefined;
  #first: First | undefined;
  #said: readonly SaidDigest[] = [];
  /** An answer was one of a file, with validators. */
  #sawFile = false;
  readonly #ways = new OtherWays();
  #resumedBytes = 0;

  constructor(request: DownloadRequest, context: DownloadContext) {
    this.#request = request;
    this.#context = context;
    this.#report = new DownloadReport(context.onEvent, this.#now);
    this.#limit = new AdjustableLimit(request.limit, this.#now);
    this.#limits = [this.#limit, ...(context.rateLimits ?? [])];
    this.#target = new TargetFile({
      request,
      context,
      report: this.#report,
      onStored: () => this.#reader.wake(),
      onLost: (ranges) => {
        for (const range of ranges) this.#blocks?.discard(range);
      },
    });
    // Nobody has to ask for it.
    this.#described.promise.catch(() => {});
  }

  /** Resolves once it is known what and where the file is. @throws what `run` throws before */
  get described(): Promise<Described> {
    return this.#described.promise;
  }

  /**
   * Runs to the end.
   *
   * @throws MillraceError; `interrupted` when the signal aborts. A partial file that can be gone on
   *   with stays.
   */
  async run(): Promise<DownloadResult> {
    try {
      const connections = await Connections.open(this.#request);
      this.#connections = connections;
      for (let attempt = 1; ; attempt++) {
        try {
          const result = await this.#attempt(connections);
          if (this.#context.settles !== true) await this.settle(true);
          return result;
        } catch (error) {
          if (this.#context.signal.aborted) throw error;
          const note = attempt < MAX_RESTARTS ? restartNote(error) : undefined;
          const way = note ?? this.#otherWay(error);
          if (way === undefined) throw error;
          this.#reader.restart();
          this.#report.note(way);
        }
      }
    } catch (thrown) {
      const error = this.#context.signal.aborted
        ? new MillraceError('interrupted')
        : asMillraceError(thrown);
      this.#described.reject(error);
      this.#reader.fail(error);
      throw error;
    } finally {
      await this.#target.leave();
      await this.#connections?.close();
    }
  }

  /**
   * Lets go of the complete file; nothing where there is none.
   *
   * @param written it is written down that the download is complete. Else another run of it finds
   *   the file complete
   * @throws MillraceError of the folder
   */
  async settle(written: boolean): Promise<void> {
    await this.#target.settle(written);
  }

  #otherWay(error: unknown): Note | undefined {
    const sources = this.#sources?.sources ?? [];
    return this.#ways.next(
      error,
      sources,
      this.#first?.source,
      this.#target.partial?.stored.bytes ?? 0,
    );
  }

  progress(): DownloadProgress {
    return progressOf({
      report: this.#report,
      target: this.#target,
      length: this.#length,
      sources: this.#sources,
      said: this.#said,
    });
  }

  /** Another number: `read` gives the bytes of another version of the file than before. */
  get generation(): number {
    return this.#reader.generation;
  }

  /** @param bytesPerSecond for this download, from now on; undefined: no limit */
  setLimit(bytesPerSecond: number | undefined): void {
    this.#limit.set(bytesPerSecond);
  }

  /** Adds a URL of the same file: it is used once it is shown to hold the same bytes. */
  addUrl(url: string): void {
    this.#addedUrls.push(url);
    this.#connections?.name(url);
    this.#addMirror(url);
  }

  /** What follows this position is wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    this.#preferred = position;
    this.#blocks?.prefer(position);
  }

  /**
   * Reads stored bytes, waiting until there is at least one at the position.
   *
   * @returns how many bytes; 0 at the end of the file
   * @throws what the download ends with; the signal's reason
   */
  read(into: Buffer, position: number, signal: AbortSignal): Promise<number> {
    return this.#reader.read(into, position, signal);
  }

  async #attempt(connections: Connections): Promise<DownloadResult> {
    const request = this.#request;
    const { signal } = this.#context;
    this.#blocks = undefined;
    const sources = new SourceSet(request.connectionsPerHost, this.#context.hostLimits, this.#now);
    this.#sources = sources;
    for (const source of await connections.sources(this.#context.random, this.#report.noteOnce)) {
      if (!this.#ways.excludes(source.id)) sources.add(source);
    }
    for (const url of this.#addedUrls) {
      connections.name(url);
      this.#addMirror(url);
    }
    const waiting = this.#waiting(connections);
    const first = await openFirst({
      ...waiting,
      sources,
      length: request.length,
      retryForMs: request.retryForMs,
      yieldsAfterMs: this.#context.yieldsAfterMs,
      now: this.#now,
      signal,
      onSourceFailed: this.#report.sourceFailed,
      onOrigin: (answer) => this.#keepHome(sources, answer, connections),
    });
    this.#first = first;
    this.#expectFile(first);
    const pinned = isPinnable(first.opened) ? versionOf(first.opened) : undefined;
    const version = pinned ?? unpinned(first.opened);
    const file = await this.#target.open(first, version, connections.urls);
    if (version.length === undefined) this.#report.note(noteOf('cannot-resume'));
    this.#tellStart(first, file);
    const way: DownloadWay = {
      ...waiting,
      request,
      context: this.#context,
      report: this.#report,
      sources,
      first,
      target: this.#target,
      file,
      pool: this.#pool,
      now: this.#now,
      onBytes: this.#onBytes,
    };
    const { length: total, digest } =
      pinned === undefined
        ? await streamDownload(way)
        : await this.#byBlocks(way, pinned, connections);
    this.#length = total;
    const path = await this.#target.finish(total);
    this.#reader.finished(path);
    const note = await markDownloaded(path, {
      url: first.source.url,
      referrer: request.headers.referer,
    });
    if (note !== undefined) this.#report.note(noteOf('system', { text: note }));
    return {
      path,
      bytes: total,
      receivedBytes: this.#report.receivedBytes,
      resumedBytes: this.#resumedBytes,
      digest,
    };
  }

  /** No edge is asked for what the origin does not give to everybody, or for the own network. */
  async #keepHome(
    sources: SourceSet,
    answer: OriginAnswer,
    connections: Connections,
  ): Promise<void> {
    const inAnswer = reasonInAnswer(answer);
    const why = homeReasonText(inAnswer ?? 'own-network');
    for (const { edge, health } of sources.sources) {
      if (edge === undefined) continue;
      if (inAnswer === undefined && (await connections.mayTell(edge))) continue;
      this.#report.noteOnce(noteOf('edges-not-asked', { why }));
      health.quarantineFor(new MillraceError('source-refused', why));
    }
  }

  /**
   * A web page where a file was before is a log-in or an error page, whatever its status says.
   *
   * @throws MillraceError `origin-denied`
   */
  #expectFile({ opened }: First): void {
    const page = isPage(opened);
    if (this.#sawFile && page && !isPinnable(opened)) {
      opened.discard();
      throw new MillraceError('origin-denied', 'a web page came in place of the file');
    }
    this.#sawFile ||= !page && isPinnable(opened);
  }

  async #byBlocks(
    way: DownloadWay,
    version: SourceVersion,
    connections: Connections,
  ): Promise<{ readonly length: number; readonly digest: Digest | undefined }> {
    this.#blocks = new BlockDownload({
      ...way,
      connections,
      version,
      preferred: this.#preferred,
      onSource: (source) => this.#addSource(source),
      onSaid: (said) => {
        this.#said = said;
      },
    });
    return { length: version.length, digest: await this.#blocks.run() };
  }

  #tellStart({ opened, source }: First, file: PartialFile): void {
    const length = opened.kind === 'whole' ? opened.length : opened.version.length;
    const { path } = file;
    const resumedBytes = file.stored.bytes;
    this.#length = length;
    this.#resumedBytes = resumedBytes;
    this.#reader.begin(file);
    const contentType = listField(opened.headers, 'content-type');
    this.#described.resolve({ path, length, contentType });
    this.#context.onEvent({ kind: 'start', path, length, resumedBytes, via: source.label });
  }

  #addMirror(url: string): void {
    const source = this.#connections?.source('mirror', url, this.#context.random);
    if (source !== undefined) this.#addSource(source);
  }

  /** One more source: it is used once it has shown that it holds the file. */
  #addSource(source: HttpSource): void {
    const sources = this.#sources;
    if (sources === undefined || this.#ways.excludes(source.id)) return;
    const isHome = this.#connections?.isHome === true;
    if (source.edge !== undefined && !mayBeTold(source.edge, isHome)) return;
    if (sources.sources.some(({ id }) => id === source.id)) return;
    sources.add(source);
    this.#blocks?.letIn(source);
  }

  #waiting(connections: Connections) {
    return {
      onWaiting: (waiting: boolean) => this.#setWaiting(waiting),
      networkChange: connections.networkChange,
    };
  }

  #setWaiting(waiting: boolean): void {
    if (!waiting) return this.#report.setState(this.#length === undefined ? 'starting' : 'running');
    const serverAway = this.#sources?.allServersAway === true;
    this.#report.setState(serverAway ? 'waiting-for-server' : 'waiting-for-network');
    const failure = this.#sources?.failure();
    if (serverAway && failure !== undefined) {
      this.#report.noteOnce(noteOfError('waits-for-server', failure));
    }
  }

  readonly #onBytes = (
    _source: HttpSource,
    count: number,
    signal: AbortSignal = this.#context.signal,
  ): Promise<void> | undefined => {
    this.#report.received(count);
    return takeFromAll(this.#limits, count, signal);
  };
}

/** What is known of a file of which no range can be told from those of other versions. */
function unpinned(opened: Opened): UnsizedVersion {
  if (opened.kind === 'whole') return { length: undefined, validators: {}, digests: [] };
  const { length, validators } = opened.version;
  return { length, validators, digests: [] };
}

/** What is said where a download begins again by itself; undefined: it does not. */
function restartNote(error: unknown): Note | undefined {
  if (isMillraceError(error, 'version-changed')) {
    return noteOf('new-version');
  }
  if (isMillraceError(error, 'file-changed')) {
    return noteOf('partial-changed');
  }
  return undefined;
}
