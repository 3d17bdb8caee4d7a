/**
 * One download from beginning to end: finds out what the file is, opens the partial file, fetches
 * what is missing from all sources, checks the whole, and gives it its name.
 */

import { basename } from 'node:path';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf, noteOfError } from '@millrace/shared/base/notes';
import { broughtBy, type Giver, storedShares } from '@millrace/shared/download/cell-map';
import type { Digest } from '@millrace/shared/download/digest';
import { fileDigests } from '@millrace/shared/download/digest-fields';
import type { DownloadRequest } from '@millrace/shared/download/request';
import type { SourceVersion } from '@millrace/shared/download/same-file';
import { Scheduler } from '@millrace/shared/download/scheduler';
import { looksSigned } from '@millrace/shared/download/signed-url';
import { listField } from '@millrace/shared/http/headers';
import { versionOf } from './admission.ts';
import { blame } from './blame.ts';
import { BlockTransfer } from './block-transfer.ts';
import { Connections } from './connections.ts';
import { Discovery } from './discovery.ts';
import { DownloadReport } from './download-report.ts';
import type {
  Described,
  DownloadContext,
  DownloadProgress,
  DownloadResult,
} from './download-types.ts';
import { FileCheck } from './file-check.ts';
import { FileReader } from './file-reader.ts';
import { readFirstBody } from './first-body.ts';
import { Gatekeeper } from './gatekeeper.ts';
import type { HttpSource } from './http-source.ts';
import { type First, isPinnable, openFirst } from './opening.ts';
import { OtherWays } from './other-ways.ts';
import type { PartialFile } from './partial-file.ts';
import { markDownloaded } from './platform/mark-downloaded.ts';
import { AdjustableLimit, type RateLimit } from './rate-limit.ts';
import { SegmentPool } from './segment-writer.ts';
import { SingleStream } from './single-stream.ts';
import { isPage } from './source-answer.ts';
import { SourceSet } from './source-set.ts';
import { TargetFile, type UnsizedVersion } from './target-file.ts';
import { waitForRoom } from './wait-for-room.ts';

export type {
  Described,
  DownloadContext,
  DownloadEvent,
  DownloadProgress,
  DownloadResult,
  DownloadState,
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
  #gatekeeper: Gatekeeper | undefined;
  #discovery: Discovery | undefined;
  #scheduler: Scheduler | undefined;
  #transfer: BlockTransfer | undefined;
  readonly #target: TargetFile;
  #length: number | undefined;
  #preferred: number | undefined;
  #first: First | undefined;
  #orphaned: MillraceError | undefined;
  /** Digests that the whole file should have, and who says so. */
  #said: readonly { readonly by: string; readonly digest: Digest }[] = [];
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
        for (const range of ranges) this.#scheduler?.discard(range);
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
          return await this.#attempt(connections);
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
    // Before the path is settled, what is there may be of another download.
    const { path, partial } = this.#target;
    const stored = path === undefined ? undefined : partial?.stored;
    const storedBytes = stored?.bytes ?? 0;
    const { state, receivedBytes, bytesPerSecond: rate } = this.#report;
    const length = this.#length;
    const left = length === undefined ? undefined : length - storedBytes;
    return {
      state,
      path,
      length,
      storedBytes,
      receivedBytes,
      bytesPerSecond: rate,
      etaMs: left === undefined || rate < 1 ? undefined : (left / rate) * 1000,
      sources: this.#sources?.status() ?? [],
      digests: this.#said,
      strip: (cells) => storedShares(stored?.ranges ?? [], length, cells),
      brought: (cells) => broughtBy(this.#givers(), length, cells),
    };
  }

  /** Who has given what, in the order of the sources. */
  #givers(): Giver[] {
    const sources = this.#sources?.sources ?? [];
    // A file in one piece comes from one source, and nothing is noted of it.
    const whole = this.#length === undefined ? [] : [{ start: 0, end: this.#length }];
    const noted = sources.some(({ given }) => given.bytes > 0);
    return sources.map(({ given, health, receivedBytes }) => ({
      ranges:
        noted || receivedBytes === 0
          ? given.ranges
          : (this.#target.partial?.stored.ranges ?? whole),
      suspect: health.quarantine !== undefined,
    }));
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
    this.#addMirror(url);
  }

  /** What follows this position is wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    this.#preferred = position;
    this.#scheduler?.prefer(position);
    this.#transfer?.kick();
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
    this.#orphaned = undefined;
    const sources = new SourceSet(request.connectionsPerHost, this.#context.hostLimits, this.#now);
    this.#sources = sources;
    for (const source of await connections.sources(this.#context.random, this.#report.noteOnce)) {
      if (!this.#ways.excludes(source.id)) sources.add(source);
    }
    for (const url of this.#addedUrls) this.#addMirror(url);
    const first = await openFirst({
      ...this.#waiting(connections),
      sources,
      length: request.length,
      retryForMs: request.retryForMs,
      now: this.#now,
      signal,
      onSourceFailed: this.#report.sourceFailed,
    });
    this.#first = first;
    this.#expectFile(first);
    const version = versionOf(first.opened);
    let total: number;
    let digest: Digest | undefined;
    if (isPinnable(first.opened) && version !== undefined) {
      total = version.length;
      digest = await this.#byBlocks(first, version, connections);
    } else {
      total = await this.#inOnePiece(first);
      digest = await this.#checkWhole(first, total);
    }
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
    first: First,
    version: SourceVersion,
    connections: Connections,
  ): Promise<Digest | undefined> {
    const { random } = this.#context;
    const sources = this.#sources as SourceSet;
    const file = await this.#openFile(first, version);
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#context.signal]);
    const gatekeeper = new Gatekeeper({
      sources,
      file,
      reference: version,
      first: first.source,
      random,
      now: this.#now,
      signal,
      onOrphaned: () => {
        this.#orphaned = new MillraceError('origin-unreachable', 'nothing came from the first');
        this.#transfer?.stop(this.#orphaned);
      },
      onAdmitted: (source) => {
        this.#scheduler?.addSource(source.id, this.#discovery?.ownership(source));
        this.#transfer?.kick();
      },
      onSourceFailed: this.#report.sourceFailed,
    });
    try {
      this.#tellStart(first, version.length);
      first.source.version = { length: version.length, validators: version.validators };
      await readFirstBody(first, {
        file,
        sources,
        pool: this.#pool,
        signal: this.#context.signal,
        onBytes: this.#onBytes,
        onSourceFailed: this.#report.sourceFailed,
      });
      this.#gatekeeper = gatekeeper;
      gatekeeper.start();
      this.#discovery = new Discovery({
        request: this.#request,
        connections,
        first,
        length: version.length,
        name: basename(file.path),
        random,
        signal,
        onSource: (source) => this.#addSource(source),
        onOwners: () => this.#setOwners(),
        onNote: this.#report.noteOnce,
      });
      return await this.#transferAndCheck(first, file, version, this.#discovery);
    } finally {
      ended.abort(new MillraceError('interrupted'));
      this.#gatekeeper = undefined;
      this.#discovery = undefined;
      await gatekeeper.ended();
    }
  }

  /** Fetches and checks until what is there is right. */
  async #transferAndCheck(
    first: First,
    file: PartialFile,
    version: SourceVersion,
    discovery: Discovery,
  ): Promise<Digest | undefined> {
    for (;;) {
      await this.#fetchAll(file, version);
      const { signal } = this.#context;
      const said = await discovery.statements();
      const all = [...said, { by: first.source.label, digests: version.digests }];
      this.#said = all.flatMap(({ by, digests }) =>
        (digests ?? []).map((digest) => ({ by, digest })),
      );
      const check = new FileCheck(all);
      if (check.needed) this.#report.checking();
      const bad = await check.badPieces(this.#target.hasher, version.length, signal);
      if (bad.length === 0) return this.#target.check(check, version.length);
      this.#report.note(noteOf('pieces-again', { n: bad.length }));
      for (const range of bad) await file.forget(range);
      blame(bad, (this.#sources as SourceSet).sources, this.#report.sourceFailed);
    }
  }

  /** Transfers until every byte is stored; where the disk is full, waits until it is not. */
  async #fetchAll(file: PartialFile, version: SourceVersion): Promise<void> {
    for (;;) {
      try {
        await this.#fetchOnce(file, version);
        return;
      } catch (error) {
        this.#context.signal.throwIfAborted();
        if (!isMillraceError(error, 'disk-full')) throw error;
        this.#report.setState('waiting-for-room');
        this.#report.note(noteOfError('waits-for-room', error as MillraceError));
        const { retryForMs } = this.#request;
        if (await waitForRoom(file, retryForMs, this.#now, this.#context.signal)) continue;
        throw error;
      } finally {
        this.#scheduler = undefined;
        this.#transfer = undefined;
      }
    }
  }

  async #fetchOnce(file: PartialFile, version: SourceVersion): Promise<void> {
    const { redundancy, connections, retryForMs, urls, redundantShare } = this.#request;
    const ways = this.#connections as Connections;
    const sources = this.#sources as SourceSet;
    const once = urls.some(looksSigned);
    const scheduler = new Scheduler(
      {
        length: version.length,
        mode: redundancy,
        redundantBytes: once ? 0 : Math.floor(version.length * redundantShare),
        connections,
      },
      this.#now(),
    );
    for (const range of file.stored.ranges) scheduler.addStored(range);
    for (const source of sources.sources) {
      if (source.version === undefined) continue;
      scheduler.addSource(source.id, this.#discovery?.ownership(source));
    }
    this.#scheduler = scheduler;
    if (this.#preferred !== undefined) scheduler.prefer(this.#preferred);
    this.#transfer = new BlockTransfer({
      ...this.#waiting(ways),
      file,
      scheduler,
      sources,
      pool: this.#pool,
      connections,
      retryForMs,
      now: this.#now,
      signal: this.#context.signal,
      onBytes: this.#onBytes,
      onSourceFailed: this.#report.sourceFailed,
    });
    this.#report.setState('running');
    if (this.#orphaned !== undefined) throw this.#orphaned;
    await this.#transfer.run();
  }

  async #inOnePiece(first: First): Promise<number> {
    const { opened, source } = first;
    const length = opened.kind === 'range' ? opened.version.length : undefined;
    const validators = opened.kind === 'range' ? opened.version.validators : {};
    const file = await this.#openFile(first, { length, validators, digests: [] });
    if (length === undefined) {
      this.#report.note(noteOf('cannot-resume'));
    }
    this.#tellStart(first, opened.kind === 'whole' ? opened.length : length);
    this.#report.setState('running');
    const stream = new SingleStream({
      file,
      source,
      sources: this.#sources as SourceSet,
      pool: this.#pool,
      retryForMs: this.#request.retryForMs,
      now: this.#now,
      signal: this.#context.signal,
      onBytes: this.#onBytes,
    });
    return stream.run(opened);
  }

  #openFile(first: First, version: UnsizedVersion): Promise<PartialFile> {
    return this.#target.open(first, version, this.#connections?.urls ?? []);
  }

  #tellStart({ opened, source }: First, length: number | undefined): void {
    const { file } = this.#target;
    this.#length = length;
    this.#resumedBytes = file.stored.bytes;
    const { path } = file;
    const resumedBytes = this.#resumedBytes;
    this.#reader.begin(file);
    const contentType = listField(opened.headers, 'content-type');
    this.#described.resolve({ path, length, contentType });
    this.#context.onEvent({ kind: 'start', path, length, resumedBytes, via: source.label });
  }

  /** A file that came in one piece: a bad piece of it cannot be fetched again. */
  async #checkWhole({ source, opened }: First, length: number): Promise<Digest | undefined> {
    const { digests, pieces } = this.#request;
    const check = new FileCheck([
      { by: 'the user', digests, pieces: pieces === undefined ? [] : [pieces] },
      {
        by: source.label,
        digests: fileDigests(opened.headers, opened.kind === 'whole' ? 200 : 206),
      },
    ]);
    const digest = await this.#target.check(check, length);
    if (!check.needed) return digest;
    const bad = await check.badPieces(this.#target.hasher, length, this.#context.signal);
    if (bad.length === 0) return digest;
    await this.#target.discard();
    throw new MillraceError('checksum-mismatch', `${bad.length} pieces have another digest`);
  }

  #addMirror(url: string): void {
    const source = this.#connections?.source('mirror', url, this.#context.random);
    if (source !== undefined) this.#addSource(source);
  }

  /** One more source: it is used once it has shown that it holds the file. */
  #addSource(source: HttpSource): void {
    const sources = this.#sources;
    if (sources === undefined || this.#ways.excludes(source.id)) return;
    if (sources.sources.some(({ id }) => id === source.id)) return;
    sources.add(source);
    this.#gatekeeper?.letIn(source);
  }

  /** Edges have got chunks of their own. */
  #setOwners(): void {
    for (const source of this.#sources?.sources ?? []) {
      if (source.version === undefined) continue;
      this.#scheduler?.addSource(source.id, this.#discovery?.ownership(source));
    }
  }

  #waiting(connections: Connections) {
    return {
      onWaiting: (waiting: boolean) =>
        this.#report.setState(
          waiting ? 'waiting-for-network' : this.#length === undefined ? 'starting' : 'running',
        ),
      networkChange: connections.networkChange,
    };
  }

  readonly #onBytes = (_source: HttpSource, count: number): Promise<void> | undefined => {
    this.#report.received(count);
    let all: Promise<void> | undefined;
    for (const limit of this.#limits) {
      const wait = limit.take(count, this.#context.signal);
      if (wait !== undefined) all = all === undefined ? wait : Promise.all([all, wait]).then();
    }
    return all;
  };
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
