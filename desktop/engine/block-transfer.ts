/**
 * Fetches the missing blocks of a partial file over several connections at a time, from whichever
 * sources can be used, until every byte is stored.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { BASIC, type BlockMap } from '@millrace/shared/download/block-map';
import type { PinnedVersion } from '@millrace/shared/http/range-contract';
import type { HttpSource, Opened, Sink } from './http-source.ts';
import type { PartialFile } from './partial-file.ts';
import { type SegmentPool, SegmentWriter } from './segment-writer.ts';
import type { SourceSet } from './source-set.ts';

export interface BlockTransferOptions {
  readonly file: PartialFile;
  readonly version: PinnedVersion;
  readonly blocks: BlockMap;
  readonly sources: SourceSet;
  readonly pool: SegmentPool;
  readonly connections: number;
  /** How long to go on trying without a single byte from anywhere, milliseconds. */
  readonly retryForMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly signal: AbortSignal;
  /** Counts bytes as they come in; a promise holds the source back (rate limit). */
  readonly onBytes: (source: HttpSource, count: number) => Promise<void> | undefined;
  readonly onSourceFailed: (source: HttpSource, error: MillraceError) => void;
}

/** What one exchange has brought. */
interface Progress {
  bytes: number;
}

/** Failures of one answer that concern the whole download. */
const FATAL = ['version-changed', 'disk-full', 'file-not-writable', 'internal'];

export class BlockTransfer {
  readonly #o: BlockTransferOptions;
  readonly #stop = new AbortController();
  #lastBytesAt: Millis;
  #wake: (() => void)[] = [];

  constructor(options: BlockTransferOptions) {
    this.#o = options;
    this.#lastBytesAt = options.now();
  }

  /**
   * Runs until every block is complete.
   *
   * @param first an answer that is there already, of the file's first bytes
   * @throws MillraceError; the signal's reason. What has come in by then is stored.
   */
  async run(first: {
    source: HttpSource;
    opened: Extract<Opened, { kind: 'range' }>;
  }): Promise<void> {
    const { blocks, signal, connections } = this.#o;
    const onAbort = () => this.#end(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const workers = [this.#takeFirst(first)];
      for (let i = 0; i < connections; i++) workers.push(this.#work());
      await Promise.all(workers);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    if (!blocks.allDone) throw this.#stop.signal.reason;
  }

  /** The first answer's body: blocks that it covers are not asked for again meanwhile. */
  async #takeFirst({
    source,
    opened,
  }: {
    source: HttpSource;
    opened: Extract<Opened, { kind: 'range' }>;
  }): Promise<void> {
    const { blocks, file } = this.#o;
    if (file.stored.covers(opened.range)) return opened.discard();
    const covered: number[] = [];
    for (let b = 0; b < blocks.count && blocks.range(b).start < opened.range.end; b++)
      covered.push(b);
    for (const block of covered) blocks.start(block);
    await this.#exchange(source, (progress) => this.#read(source, opened, progress));
    for (const block of covered) {
      blocks.end(block);
      if (file.stored.covers(blocks.range(block))) blocks.finish(block);
    }
    this.#wakeAll();
  }

  /** One connection: fetches block after block until there is nothing left. */
  async #work(): Promise<void> {
    const { blocks, sources, now } = this.#o;
    while (!blocks.allDone && !this.#stop.signal.aborted) {
      const source = sources.pick(now());
      const block = source === undefined ? undefined : blocks.next(BASIC);
      if (source === undefined || block === undefined) {
        await this.#pause(source === undefined);
        continue;
      }
      blocks.start(block);
      await this.#exchange(source, (progress) =>
        this.#fetch(source, blocks.range(block), progress),
      );
      blocks.end(block);
      if (this.#o.file.stored.covers(blocks.range(block))) blocks.finish(block);
      this.#wakeAll();
    }
    if (blocks.allDone) this.#wakeAll();
  }

  /** Runs one exchange with a source and draws the conclusions from how it ends. */
  async #exchange(source: HttpSource, work: (progress: Progress) => Promise<void>): Promise<void> {
    const { sources, now, onSourceFailed } = this.#o;
    const progress = { bytes: 0 };
    sources.started(source);
    try {
      await work(progress);
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      const error = asMillraceError(thrown);
      if (FATAL.includes(error.code)) return this.#end(error);
      source.health.onFailure(error, progress.bytes > 0, now());
      if (error.row.status === 429 || error.row.status === 503) sources.onBusy(source);
      onSourceFailed(source, error);
    } finally {
      sources.ended(source);
    }
  }

  async #fetch(source: HttpSource, range: ByteRange, progress: Progress): Promise<void> {
    const { file, version } = this.#o;
    for (const gap of file.stored.missing(range)) {
      const opened = await source.openRange(gap, version, this.#stop.signal);
      await this.#read(source, opened, progress);
    }
  }

  async #read(source: HttpSource, opened: Opened, progress: Progress): Promise<void> {
    const { file, pool, onBytes, now } = this.#o;
    const writer = new SegmentWriter(file, pool);
    const sink: Sink = (position, bytes) => {
      this.#lastBytesAt = now();
      progress.bytes += bytes.length;
      source.health.onBytes();
      const room = writer.write(position, bytes);
      const limit = onBytes(source, bytes.length);
      return room === undefined ? limit : room.then(() => limit);
    };
    try {
      await opened.read(sink);
    } finally {
      // Whatever came in stays, also when the answer broke off.
      await writer.end();
    }
  }

  /** Waits until something has changed, or until a source may be asked again. */
  async #pause(noSource: boolean): Promise<void> {
    const { sources, now, retryForMs } = this.#o;
    let timer: NodeJS.Timeout | undefined;
    if (noSource && sources.sources.length > 0) {
      const at = sources.nextUsableAt();
      const giveUpAt = this.#lastBytesAt + retryForMs;
      if (at === undefined || (now() >= giveUpAt && this.#nothingRuns())) {
        return this.#end(sources.failure() ?? new MillraceError('origin-unreachable'));
      }
      // All may be busy instead of resting: then the end of a request wakes us.
      if (at > now()) timer = setTimeout(() => this.#wakeAll(), at - now());
    }
    await new Promise<void>((resolve) => {
      this.#wake.push(resolve);
    });
    clearTimeout(timer);
  }

  #nothingRuns(): boolean {
    const { blocks } = this.#o;
    for (let b = 0; b < blocks.count; b++) if (blocks.running(b) > 0) return false;
    return true;
  }

  #end(reason: unknown): void {
    this.#stop.abort(reason);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
