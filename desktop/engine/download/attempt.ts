/**
 * One attempt of a download: the first answer states the file's length and version, the partial
 * file is opened, and the rest is fetched in blocks or as one stream. Another attempt follows if
 * the file has changed, or if other sources may do better.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { asMillraceError, isOfSource } from '@millrace/shared/base/errors';
import { noteOf, noteOfError } from '@millrace/shared/base/notes';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { Patience } from '@millrace/shared/download/transfer/patience';
import type { SourceVersion } from '@millrace/shared/download/transfer/same-file';
import type { Session } from '@millrace/shared/download/transfer/session';
import type { ReadableExnode } from '@millrace/shared/exnode/exnode';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import { listField } from '@millrace/shared/http/fields/headers';
import { mayBeTold } from '@millrace/shared/http/urls/public-host';
import { sleep } from '@millrace/shared/node/sleep';
import type { PartialFile } from '../partial/partial-file.ts';
import type { SegmentPool } from '../partial/segment-pool.ts';
import type { Connections } from '../sources/connections.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { FIRST_BYTES, type First, isPinnable, openFirst } from '../sources/opening.ts';
import { versionOf } from '../sources/sample-check.ts';
import { SourceSet } from '../sources/source-set.ts';
import { BlockDownload } from './block-download.ts';
import type { DownloadReport } from './download-report.ts';
import type { Described, DownloadContext } from './download-types.ts';
import { type DownloadWay, type SaidDigest, unprovable } from './download-way.ts';
import { ExnodeDownload } from './exnode-download.ts';
import { checkIsFile, holdToLength, keepHome, unpinned } from './first-answer.ts';
import { type RateLimit, takeFromAll } from './rate-limit.ts';
import { streamDownload } from './stream-download.ts';
import type { Checked, TargetFile, UnsizedVersion } from './target-file.ts';

/** Knowledge of the file from one attempt, passed on to the next. */
export interface Findings {
  /** Length of the file in bytes; undefined: not known yet, or not stated by any source. */
  readonly length: number | undefined;
  /** Digests of the whole file, as stated by any source. */
  readonly said: readonly SaidDigest[];
  /** True if an answer contained a file with validators. */
  readonly sawFile: boolean;
}

export interface AttemptOptions {
  readonly request: DownloadRequest;
  /** Description of the file by its parts: the only sources are the places that it names. */
  readonly exnode: ReadableExnode | undefined;
  readonly context: DownloadContext;
  readonly report: DownloadReport;
  readonly connections: Connections;
  readonly target: TargetFile;
  readonly pool: SegmentPool;
  readonly limits: readonly RateLimit[];
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Returns true for a source that must not be asked any more. */
  readonly excludes: (id: string) => boolean;
  /** True to ask for the whole file in one answer, because ranges cannot be used. */
  readonly asksForWhole: boolean;
  /** True if the bytes received in range answers had a wrong digest. */
  readonly isAfterWrong: boolean;
  /** Versions that partial answers of earlier attempts stated. */
  readonly stated: readonly PinnedVersion[];
  /** Mirrors named after the request was made. */
  readonly addedUrls: readonly string[];
  /** Position from which bytes are wanted first; undefined: the order does not matter. */
  readonly preferred: number | undefined;
  /** Findings of the previous attempt. */
  readonly earlier: Findings | undefined;
  /** Called once the file is known and its partial file is open. */
  readonly onOpened: (file: PartialFile, described: Described) => void;
}

const NOTHING: Findings = { length: undefined, said: [], sawFile: false };

/** A file that an attempt has fetched completely. */
export interface Fetched extends Checked {
  /** URL that it came from. */
  readonly url: string;
  readonly length: number;
  /** Bytes that were stored when the attempt began. */
  readonly resumedBytes: number;
}

export class Attempt {
  readonly #options: AttemptOptions;
  readonly #session: Session<DownloadSource>;
  readonly #sources: SourceSet;
  #blocks: BlockDownload | undefined;
  #described: ExnodeDownload | undefined;
  #preferred: number | undefined;
  #first: First | undefined;
  #findings: Findings;

  constructor(options: AttemptOptions) {
    this.#options = options;
    const { request, context, report, connections, now, earlier } = options;
    this.#sources = new SourceSet(request.connectionsPerHost, context.hostLimits, now);
    this.#preferred = options.preferred;
    this.#findings = earlier ?? NOTHING;
    this.#session = {
      signal: context.signal,
      retryForMs: request.retryForMs,
      yieldsAfterMs: context.yieldsAfterMs,
      now,
      wait: (ms, signal) => sleep(ms, signal).catch(() => {}),
      onBytes: (_source, count, signal) => {
        report.received(count);
        return takeFromAll(options.limits, count, signal);
      },
      onSourceFailed: report.sourceFailed,
      onWaiting: (waiting) => this.#setWaiting(waiting),
      networkChange: connections.networkChange,
    };
  }

  get sources(): SourceSet {
    return this.#sources;
  }

  /** The answer that defined the file; undefined: none so far. */
  get first(): First | undefined {
    return this.#first;
  }

  /**
   * True if the file came whole because its source serves no ranges: whatever is stored, the next
   * run starts from the beginning.
   */
  get isOnePiece(): boolean {
    return this.#first?.opened.kind === 'whole';
  }

  get findings(): Findings {
    return this.#findings;
  }

  /**
   * Runs until every byte of the file is stored and right.
   *
   * @throws MillraceError; the signal's reason
   */
  async run(): Promise<Fetched> {
    const { context, report, connections, exnode } = this.#options;
    if (exnode !== undefined) return this.#fetchDescribed(exnode);
    for (const source of await connections.sources(context.random, report.noteOnce)) {
      if (!this.#options.excludes(source.id)) this.#sources.add(source);
    }
    for (const url of this.#options.addedUrls) this.addMirror(url);
    const { first, pinned, version, file } = await this.#open();
    // Of a small file nothing is worth resuming.
    const isSmall = version.length !== undefined && version.length <= FIRST_BYTES;
    if (this.isOnePiece && !isSmall) report.note(noteOf('cannot-resume'));
    const resumedBytes = file.stored.bytes;
    this.#tellStart(first, file, resumedBytes);
    const { length, digest, vouch } = await this.#fetch(first, file, pinned);
    this.#find({ length });
    return { url: first.source.url, length, digest, vouch, resumedBytes };
  }

  /** Adds a mirror, which is used once it is shown to hold the same bytes. */
  addMirror(url: string): void {
    const { connections, context } = this.#options;
    // An exNode names all places of its file.
    if (this.#options.exnode !== undefined) return;
    connections.name(url);
    this.#addSource(connections.source('mirror', url, context.random));
  }

  /** Sets the position from which bytes are wanted first; undefined: the order does not matter. */
  prefer(position: number | undefined): void {
    this.#preferred = position;
    this.#blocks?.prefer(position);
    this.#described?.prefer(position);
  }

  /** Notes that bytes are no longer stored: they are fetched again. */
  discard(range: ByteRange): void {
    this.#blocks?.discard(range);
    this.#described?.discard(range);
  }

  /** Notes that more bytes are stored. */
  onStored(): void {
    this.#blocks?.onStored();
    this.#described?.onStored();
  }

  /**
   * Finds out the file's length and version and opens its partial file. A source that answers, but
   * fails while earlier bytes are compared with its own, counts as one that has not answered.
   *
   * @throws MillraceError if no source is left, or none has succeeded for `retryForMs`
   */
  async #open(): Promise<{
    readonly first: First;
    readonly pinned: SourceVersion | undefined;
    readonly version: UnsizedVersion;
    readonly file: PartialFile;
  }> {
    const { request, connections, target, stated } = this.#options;
    const session = this.#session;
    const sources = this.#sources;
    const patience = new Patience(session, session.now());
    for (;;) {
      const first = await openFirst({
        session,
        patience,
        sources,
        length: request.length,
        asksForWhole: this.#options.asksForWhole,
        isNew: request.older === undefined && !(await target.mayHaveBytes(connections.urls)),
        onOrigin: (answer) => keepHome(answer, sources.sources, connections, this.#options.report),
        onRefused: ({ label }, error) =>
          this.#options.report.note(noteOfError('ranges-refused', error, { source: label })),
      });
      this.#first = first;
      const { sawFile } = this.#findings;
      const isFile = checkIsFile(first, sawFile || this.#options.asksForWhole);
      this.#find({ sawFile: sawFile || isFile });
      const pinned = isPinnable(first.opened) ? versionOf(first.opened) : undefined;
      const version = pinned ?? unpinned(first.opened);
      try {
        if (first.opened.kind === 'whole') holdToLength(first.opened, first.opened.length, stated);
        return {
          first,
          pinned,
          version,
          file: await target.open(first, version, connections.urls),
        };
      } catch (thrown) {
        session.signal.throwIfAborted();
        first.opened.discard();
        const error = asMillraceError(thrown);
        // A partial file of another download blocks every source.
        if (error.code === 'different-file' || !isOfSource(error.row)) throw error;
        sources.onFailure(first.source, error, false);
        session.onSourceFailed?.(first.source, error);
      }
    }
  }

  /**
   * Fetches the rest of the file.
   *
   * @param version undefined: ranges cannot be shown to belong to one version
   */
  async #fetch(
    first: First,
    file: PartialFile,
    version: SourceVersion | undefined,
  ): Promise<Checked & { readonly length: number }> {
    const { request, context, report, connections, target, pool, stated } = this.#options;
    const way: DownloadWay = {
      session: this.#session,
      request,
      context,
      report,
      sources: this.#sources,
      first,
      target,
      file,
      pool,
      said: this.#options.isAfterWrong ? this.#findings.said : [],
    };
    if (version === undefined) {
      // A file that shares wrong pieces with others is checked together with them afterwards.
      const { repairs = false, except } = request.older ?? {};
      if (repairs && except === undefined) throw unprovable();
      const fetched = await streamDownload(way, connections);
      if (first.opened.kind === 'whole') holdToLength(first.opened, fetched.length, stated);
      return fetched;
    }
    this.#blocks = new BlockDownload({
      ...way,
      connections,
      version,
      preferred: this.#preferred,
      onSource: (source) => this.#addSource(source),
      onSaid: (said) => this.#find({ said }),
    });
    return { length: version.length, ...(await this.#blocks.run()) };
  }

  /** Fetches a file that an exNode describes: no answer has to say first what the file is. */
  #fetchDescribed(exnode: ReadableExnode): Promise<Fetched> {
    const [session, sources] = [this.#session, this.#sources];
    this.#find({ length: exnode.size });
    this.#described = new ExnodeDownload({ ...this.#options, exnode, session, sources });
    return this.#described.run();
  }

  #tellStart({ opened, source }: First, file: PartialFile, resumedBytes: number): void {
    const length = opened.kind === 'whole' ? opened.length : opened.version.length;
    const { path } = file;
    this.#find({ length });
    const contentType = listField(opened.headers, 'content-type');
    this.#options.onOpened(file, { path, length, contentType });
    const { onEvent } = this.#options.context;
    onEvent({ kind: 'start', path, length, resumedBytes, via: source.label });
  }

  #find(found: Partial<Findings>): void {
    this.#findings = { ...this.#findings, ...found };
  }

  #addSource(source: DownloadSource): void {
    const { connections, excludes } = this.#options;
    if (excludes(source.id)) return;
    if (source.edge !== undefined && !mayBeTold(source.edge, connections.isHome)) return;
    if (this.#sources.sources.some(({ id }) => id === source.id)) return;
    this.#sources.add(source);
    this.#blocks?.letIn(source);
  }

  #setWaiting(waiting: boolean): void {
    const { report } = this.#options;
    if (!waiting)
      return report.setState(this.#findings.length === undefined ? 'starting' : 'running');
    const serverAway = this.#sources.allServersAway;
    report.setState(serverAway ? 'waiting-for-server' : 'waiting-for-network');
    const failure = this.#sources.failure();
    if (serverAway && failure !== undefined) {
      report.noteOnce(noteOfError('waits-for-server', failure));
    }
  }
}
