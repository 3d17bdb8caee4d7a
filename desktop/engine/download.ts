/**
 * One download from beginning to end: finds out what the file is, opens the partial file, fetches
 * what is missing, checks the whole, and gives it its name.
 */

import { join, resolve } from 'node:path';
import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { TokenBucket } from '@millrace/shared/base/token-bucket';
import { BlockMap, chooseBlockBytes } from '@millrace/shared/download/block-map';
import { nameFromUrl, safeFileName } from '@millrace/shared/download/file-name';
import { RateMeter } from '@millrace/shared/download/rate-meter';
import { SourceHealth } from '@millrace/shared/download/source-health';
import { type Headers, listField } from '@millrace/shared/http/headers';
import { canPin } from '@millrace/shared/http/validators';
import { HttpClient } from '@millrace/shared/node/http-client';
import { parse as parseDisposition } from 'content-disposition';
import { BlockTransfer } from './block-transfer.ts';
import { HttpSource, type Opened } from './http-source.ts';
import { PartialFile } from './partial-file.ts';
import { SegmentPool, SegmentWriter } from './segment-writer.ts';
import { SourceSet } from './source-set.ts';

export interface Checksum {
  /** A name that Node's crypto knows: sha256, sha1, md5, sha512 ... */
  readonly algorithm: string;
  /** Lower-case hexadecimal. */
  readonly hex: string;
}

export interface DownloadOptions {
  /** URL of the file at the origin, without fragment. */
  readonly url: string;
  /** Base URLs of edges, each with header fields for it alone (the local token). */
  readonly edges: readonly { readonly url: string; readonly headers: Record<string, string> }[];
  /** False: never ask the origin itself. */
  readonly direct: boolean;
  /** Header fields for the origin. Edges carry none of them, so they are not used then. */
  readonly headers: Readonly<Record<string, string>>;
  /** Requests at a time. */
  readonly connections: number;
  /** Path of the file; undefined: named by the server, in `dir`. */
  readonly file: string | undefined;
  readonly dir: string;
  readonly overwrite: boolean;
  readonly checksum: Checksum | undefined;
  /** Bytes per second; undefined: no limit. */
  readonly limit: number | undefined;
  /** How long connecting, answering, and sending nothing may each take. */
  readonly timeoutMs: Millis;
  /** How long to go on trying without a single byte from anywhere. */
  readonly retryForMs: Millis;
  readonly signal: AbortSignal;
  readonly onEvent: (event: DownloadEvent) => void;
  readonly random: Random;
}

export type DownloadEvent =
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'start';
      readonly path: string;
      /** Undefined where the source does not say. */
      readonly length: number | undefined;
      /** Bytes that an earlier run has brought. */
      readonly resumedBytes: number;
      readonly via: string;
    }
  | { readonly kind: 'check'; readonly what: 'partial file' | 'checksum' };

export interface DownloadResult {
  readonly path: string;
  readonly bytes: number;
  /** Bytes received over the network in this run. */
  readonly receivedBytes: number;
  readonly resumedBytes: number;
}

/** Where a download stands. */
export interface DownloadProgress {
  readonly length: number | undefined;
  readonly storedBytes: number;
  readonly bytesPerSecond: number;
  /** Undefined where it cannot be said. */
  readonly etaMs: Millis | undefined;
  /** Share of each of `cells` equal parts of the file that is there, 0 to 1. */
  strip(cells: number): number[];
}

/** Length of the first request: enough to be useful, little if it is not. */
const FIRST_BYTES = 1024 * 1024;
/** A file that changes this often while it is being downloaded is left alone. */
const MAX_RESTARTS = 3;
const MAX_WHOLE_ATTEMPTS = 5;

export class Download {
  readonly #o: DownloadOptions;
  readonly #now = () => performance.now();
  readonly #client: HttpClient;
  readonly #rate: RateMeter;
  readonly #bucket: TokenBucket | undefined;
  readonly #pool = new SegmentPool();
  #file: PartialFile | undefined;
  #length: number | undefined;
  #receivedBytes = 0;
  #resumedBytes = 0;

  constructor(options: DownloadOptions) {
    this.#o = options;
    const { timeoutMs, limit } = options;
    const connections = options.connections + 1;
    const connectTimeoutMs = Math.min(timeoutMs, 10_000);
    this.#client = new HttpClient({
      agent: async () => {
        const { Agent } = await import('undici');
        return new Agent({
          connections,
          pipelining: 1,
          allowH2: false,
          connect: { timeout: connectTimeoutMs },
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
        });
      },
      direct: { connections, timeoutMs, connectTimeoutMs, headTimeoutMs: timeoutMs },
    });
    this.#rate = new RateMeter(this.#now());
    this.#bucket = limit === undefined ? undefined : new TokenBucket(limit, limit / 4, this.#now());
  }

  /**
   * Runs to the end.
   *
   * @throws MillraceError; `interrupted` when the signal aborts. A partial file that can be gone on
   *   with stays.
   */
  async run(): Promise<DownloadResult> {
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#attempt();
        } catch (error) {
          if (!isMillraceError(error, 'version-changed') || attempt >= MAX_RESTARTS) throw error;
          this.#note('the file has changed at the source: starting again with the new version');
        }
      }
    } catch (error) {
      if (this.#o.signal.aborted) throw new MillraceError('interrupted');
      throw asMillraceError(error);
    } finally {
      await this.#file?.leave();
      await this.#client.close();
    }
  }

  progress(): DownloadProgress {
    const stored = this.#file?.stored;
    const storedBytes = stored?.bytes ?? 0;
    const rate = this.#rate.bytesPerSecond(this.#now());
    const length = this.#length;
    const left = length === undefined ? undefined : length - storedBytes;
    return {
      length,
      storedBytes,
      bytesPerSecond: rate,
      etaMs: left === undefined || rate < 1 ? undefined : (left / rate) * 1000,
      strip: (cells) =>
        Array.from({ length: cells }, (_, i) => {
          if (length === undefined || stored === undefined) return 0;
          const start = Math.floor((length * i) / cells);
          const end = Math.max(start + 1, Math.floor((length * (i + 1)) / cells));
          return stored.bytesWithin({ start, end }) / (end - start);
        }),
    };
  }

  async #attempt(): Promise<DownloadResult> {
    const sources = this.#sources();
    const { source, opened } = await this.#openFirst(sources);
    let total: number;
    if (opened.kind === 'range' && canPin(opened.version.validators)) {
      total = await this.#byBlocks(sources, source, opened);
    } else {
      total = await this.#inOnePiece(sources, source, opened);
    }
    const path = await this.#finish(total);
    return {
      path,
      bytes: total,
      receivedBytes: this.#receivedBytes,
      resumedBytes: this.#resumedBytes,
    };
  }

  #sources(): SourceSet {
    const { url, edges, headers, direct, connections, random } = this.#o;
    const make = (label: string, edge: string | undefined, own: Record<string, string>) =>
      new HttpSource({
        label,
        url,
        edge,
        headers: own,
        client: this.#client,
        health: new SourceHealth(random),
      });
    const ownHeaders = Object.keys(headers).length > 0;
    if (ownHeaders && edges.length > 0) {
      this.#note('header fields are given, which edges do not carry: downloading directly');
    }
    const used = ownHeaders ? [] : edges;
    const all = used.map((edge) => make(edge.url, edge.url, edge.headers));
    if (direct || used.length === 0) all.push(make(new URL(url).host, undefined, headers));
    return new SourceSet(all, connections);
  }

  /** The first answer: says what the file is. Sources are tried until one gives it. */
  async #openFirst(sources: SourceSet): Promise<{ source: HttpSource; opened: Opened }> {
    const { signal, retryForMs } = this.#o;
    const startedAt = this.#now();
    for (;;) {
      const source = sources.pick(this.#now());
      if (source === undefined) {
        const at = sources.nextUsableAt();
        const failure = sources.failure() ?? new MillraceError('origin-unreachable');
        if (at === undefined || at > startedAt + retryForMs) throw failure;
        await sleep(at - this.#now(), signal);
        continue;
      }
      try {
        const opened = await source.openRange({ start: 0, end: FIRST_BYTES }, undefined, signal);
        return { source, opened };
      } catch (thrown) {
        signal.throwIfAborted();
        this.#sourceFailed(source, asMillraceError(thrown));
      }
    }
  }

  async #byBlocks(
    sources: SourceSet,
    source: HttpSource,
    opened: Extract<Opened, { kind: 'range' }>,
  ): Promise<number> {
    const { version } = opened;
    const { connections, retryForMs, signal } = this.#o;
    const file = await this.#openFile(opened, version.length, source);
    const blocks = new BlockMap(version.length, chooseBlockBytes(version.length, connections));
    for (let b = 0; b < blocks.count; b++) {
      if (file.stored.covers(blocks.range(b))) blocks.finish(b);
    }
    const transfer = new BlockTransfer({
      file,
      version,
      blocks,
      sources,
      pool: this.#pool,
      connections,
      retryForMs,
      now: this.#now,
      signal,
      onBytes: (_source, count) => this.#onBytes(count),
      onSourceFailed: (failed, error) => this.#reportFailure(failed, error),
    });
    await transfer.run({ source, opened });
    return version.length;
  }

  /** For sources without ranges or validators: one answer from beginning to end, or none. */
  async #inOnePiece(sources: SourceSet, source: HttpSource, first: Opened): Promise<number> {
    const { signal } = this.#o;
    let opened: Opened | undefined = first;
    if (first.kind === 'range') {
      first.discard();
      opened = undefined;
    }
    let from: HttpSource = source;
    for (let attempt = 1; ; attempt++) {
      try {
        opened ??= await from.openWhole(signal);
        const length = opened.kind === 'whole' ? opened.length : undefined;
        const file = this.#file ?? (await this.#openFile(opened, length, from));
        const bytes = await this.#readWhole(file, opened);
        return bytes;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = asMillraceError(thrown);
        opened = undefined;
        this.#sourceFailed(from, error);
        const at = from.health.usableAt();
        if (at === undefined || attempt === MAX_WHOLE_ATTEMPTS) throw error;
        // Without ranges there is no going on: all of it again.
        await this.#file?.startOver();
        await sleep(at - this.#now(), signal);
        from = sources.pick(this.#now()) ?? from;
      }
    }
  }

  async #readWhole(file: PartialFile, opened: Opened): Promise<number> {
    const writer = new SegmentWriter(file, this.#pool);
    let bytes = 0;
    try {
      await opened.read((position, piece) => {
        bytes += piece.length;
        const room = writer.write(position, piece);
        const limit = this.#onBytes(piece.length);
        return room === undefined ? limit : room.then(() => limit);
      });
    } finally {
      await writer.end();
    }
    return bytes;
  }

  async #openFile(
    opened: Opened,
    length: number | undefined,
    source: HttpSource,
  ): Promise<PartialFile> {
    const { url, file, dir, overwrite, onEvent } = this.#o;
    await this.#file?.close();
    const path = resolve(file ?? join(dir, nameFor(url, opened.headers)));
    const resumable = opened.kind === 'range';
    this.#file = await PartialFile.open({
      path,
      overwrite,
      header: {
        url,
        length: resumable ? length : undefined,
        validators: resumable ? opened.version.validators : {},
      },
      onVerify: () => onEvent({ kind: 'check', what: 'partial file' }),
    });
    if (this.#file.startedOver) {
      this.#note('an earlier partial file was of another version and could not be used');
    }
    if (!resumable) this.#note('the source sends the file in one piece: it cannot be resumed');
    this.#length = length;
    this.#resumedBytes = this.#file.stored.bytes;
    const resumedBytes = this.#resumedBytes;
    onEvent({ kind: 'start', path, length, resumedBytes, via: source.label });
    return this.#file;
  }

  async #finish(total: number): Promise<string> {
    const file = this.#file as PartialFile;
    const { checksum, onEvent } = this.#o;
    if (checksum !== undefined) {
      onEvent({ kind: 'check', what: 'checksum' });
      const hex = await file.digest(checksum.algorithm, total);
      if (hex !== checksum.hex) {
        await file.discard();
        this.#file = undefined;
        throw new MillraceError('checksum-mismatch', `${checksum.algorithm} is ${hex}`);
      }
    }
    await file.finish(total);
    this.#file = undefined;
    return file.path;
  }

  #onBytes(count: number): Promise<void> | undefined {
    this.#receivedBytes += count;
    this.#rate.add(count);
    if (this.#bucket === undefined) return undefined;
    this.#bucket.take(count, this.#now());
    const wait = this.#bucket.waitMs(this.#now());
    return wait > 0 ? sleep(wait, this.#o.signal) : undefined;
  }

  #sourceFailed(source: HttpSource, error: MillraceError): void {
    source.health.onFailure(error, false, this.#now());
    this.#reportFailure(source, error);
  }

  /** Tells of a source that is given up; passing failures are nobody's business. */
  #reportFailure(source: HttpSource, error: MillraceError): void {
    if (source.health.quarantine === undefined) return;
    this.#note(`${source.label} is not used any more: ${error.message}`);
  }

  #note(text: string): void {
    this.#o.onEvent({ kind: 'note', text });
  }
}

function nameFor(url: string, headers: Headers): string {
  const disposition = listField(headers, 'content-disposition');
  if (disposition !== undefined) {
    try {
      const { filename } = parseDisposition(disposition).parameters;
      if (filename !== undefined && filename !== '') return safeFileName(filename);
    } catch {
      // Malformed: the URL has a name as well.
    }
  }
  return nameFromUrl(url);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolvePromise, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(done, Math.max(0, ms));
    function onAbort() {
      clearTimeout(timer);
      reject(signal.reason);
    }
    function done() {
      signal.removeEventListener('abort', onAbort);
      resolvePromise();
    }
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
