/**
 * Proves the blocks of a file by their digests as they become complete: those of an exNode, and the
 * pieces of a Metalink or a torrent. A wrong block is fetched again, and `BlockTrust` decides of whom,
 * and who is left because of it.
 */

import { createHash } from 'node:crypto';
import { type ByteRange, intersect, RangeSet, rangeBytes } from '@millrace/shared/base/byte-range';
import { type PieceDigests, pieceRange, unprovenBytes } from '@millrace/shared/base/digest';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { BlockTrust, type Given } from '@millrace/shared/download/exnode/block-trust';
import type { FileHasher } from '../hash/file-hasher.ts';
import type { PartialFile } from '../partial/partial-file.ts';
import type { DownloadSource } from '../sources/download-source.ts';

/** Silence after which another source may bring a block that one alone was to bring. */
const SILENT_MS = 2000;
/** Bytes of blocks to hash per request to the thread: one request for each small block costs more. */
const STEP_BYTES = 4 * 1024 * 1024;

export interface BlockProofOptions {
  /** Bytes of the file. */
  readonly size: number;
  readonly blocks: PieceDigests;
  /** Key of the body of an encrypted file, whose ciphertext has the digests. */
  readonly bodyKey?: Uint8Array | undefined;
  readonly file: PartialFile;
  readonly hasher: FileHasher;
  /** The sources so far. */
  readonly sources: () => readonly DownloadSource[];
  /** Returns true while requests to a source are under way. */
  readonly isAsked: (source: DownloadSource) => boolean;
  /** Returns true for a source without which the file cannot be completed. Absent: none is needed. */
  readonly isNeeded?: (source: DownloadSource) => boolean;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called with a source that has sent wrong bytes and is not used any more. */
  readonly onLeft: (source: DownloadSource, error: MillraceError) => void;
  /** Called when a block has turned out right. */
  readonly onRight?: () => void;
  /** Called when a block has to be fetched again, and when others may bring one. */
  readonly onWrong: () => void;
  /** Called with the error that ends the proof. */
  readonly onFailed: (error: MillraceError) => void;
}

/** Consecutive blocks. */
interface Run {
  readonly first: number;
  readonly count: number;
}

export class BlockProof {
  readonly #options: BlockProofOptions;
  readonly #trust: BlockTrust;
  readonly #proven = new RangeSet();
  /** Names the digests in the journal. */
  readonly #by: string;
  #running: Promise<void> | undefined;
  #failure: MillraceError | undefined;
  #wrongBlocks = 0;

  constructor(options: BlockProofOptions) {
    this.#options = options;
    const { size, blocks, file, isNeeded } = options;
    this.#by = nameOf(blocks, size);
    const sourceOf = (id: string) => options.sources().find((source) => source.id === id);
    this.#trust = new BlockTrust({
      holders: (block) => {
        const range = pieceRange(blocks, size, block);
        const holders = options.sources().filter((one) => one.isAdmitted && one.has(range));
        return holders.map(({ id }) => id);
      },
      isUsable: (id) => {
        const source = sourceOf(id);
        return source !== undefined && this.#isLively(source);
      },
      isNeeded: (id) => {
        const source = sourceOf(id);
        return source !== undefined && isNeeded?.(source) === true;
      },
      isStranger: (id) => sourceOf(id)?.kind === 'house',
    });
    // A block that an earlier run has proven in part only is proven again.
    for (const range of file.provenBy(this.#by)) {
      const run = this.#runIn(range, Infinity);
      if (run !== undefined) this.#proven.add(this.#rangeOf(run));
    }
  }

  /** Keeps a source from bringing wrong blocks that others are to bring. */
  restrict(source: DownloadSource): void {
    const { id } = source;
    source.deny(() => {
      const denied = this.#trust.wrong.filter((block) => !this.#trust.mayBring(id, block));
      return denied.map((block) => this.#range(block));
    });
  }

  /** Number of blocks that had a wrong digest, each time that they had. */
  get wrongBlocks(): number {
    return this.#wrongBlocks;
  }

  /** Returns true if a block of the file is stored, and has the right digest. */
  isProven(block: ByteRange): boolean {
    return this.#proven.covers(block);
  }

  /** True while complete blocks wait for their proof. */
  get isRunning(): boolean {
    if (this.#failure !== undefined) return false;
    return this.#running !== undefined || this.#next() !== undefined;
  }

  /** Returns the number of bytes of a range that are proven. */
  provenWithin(range: ByteRange): number {
    return this.#proven.bytesWithin(range);
  }

  /** Proves the blocks that have become complete. To be called after bytes have been stored. */
  advance(): void {
    if (this.#running !== undefined || this.#failure !== undefined) return;
    if (this.#next() === undefined) return;
    this.#running = this.#run()
      .catch((error: unknown) => {
        this.#failure = asMillraceError(error);
        this.#options.onFailed(this.#failure);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Notes that bytes are no longer stored: their blocks must be proven again. */
  onLost(range: ByteRange): void {
    const { pieceBytes, from = 0 } = this.#options.blocks;
    const start = from + Math.floor((range.start - from) / pieceBytes) * pieceBytes;
    const end = from + Math.ceil((range.end - from) / pieceBytes) * pieceBytes;
    this.#proven.remove({ start: Math.max(0, start), end });
  }

  /**
   * Proves all blocks that are complete.
   *
   * @returns true if these are all blocks, and all are right
   * @throws MillraceError `wrong-digest` if no source seems to have the right bytes of a block;
   *   those of the disk
   */
  async finish(): Promise<boolean> {
    do {
      this.advance();
      await this.#running;
      if (this.#failure !== undefined) throw this.#failure;
    } while (this.#next() !== undefined);
    const { blocks, size } = this.#options;
    return this.#proven.bytes === size - unprovenBytes(blocks, size);
  }

  async #run(): Promise<void> {
    for (let run = this.#next(); run !== undefined; run = this.#next()) {
      await this.#proveRun(run);
      const hopeless = this.#trust.hopeless();
      if (hopeless === undefined) continue;
      const { start, end } = this.#range(hopeless);
      const detail = { code: 'no-right-bytes', values: { first: start, last: end - 1 } } as const;
      throw new MillraceError('wrong-digest', detail);
    }
  }

  /** Finds complete blocks that are not proven. */
  #next(): Run | undefined {
    const { file } = this.#options;
    for (const range of file.stored.ranges) {
      for (const gap of this.#proven.missing(range)) {
        const run = this.#runIn(gap, STEP_BYTES);
        if (run !== undefined) return run;
      }
    }
    return undefined;
  }

  /** Finds the first blocks that lie in a range, of some bytes at most, but at least one. */
  #runIn({ start, end }: ByteRange, most: number): Run | undefined {
    const { blocks, size } = this.#options;
    const { pieceBytes, hexes, from = 0 } = blocks;
    const first = Math.max(0, Math.ceil((start - from) / pieceBytes));
    // The last block of the file is shorter than the others.
    const whole = Math.floor((end - from) / pieceBytes);
    const to = Math.min(hexes.length, end === size ? Math.ceil((end - from) / pieceBytes) : whole);
    if (to <= first) return undefined;
    return { first, count: Math.min(to - first, Math.max(1, Math.floor(most / pieceBytes))) };
  }

  async #proveRun({ first, count }: Run): Promise<void> {
    const { size, blocks, file, hasher, bodyKey } = this.#options;
    const { removals } = file;
    const indices = Array.from({ length: count }, (_, i) => first + i);
    // Depots and exNodes know the ciphertext of an encrypted file, and the disk has the plain one.
    const digests = await hasher.digestsOfPieces(blocks, size, indices, bodyKey);
    let from = first;
    for (const [i, block] of indices.entries()) {
      // Other bytes may have been read than are there now.
      if (file.removals !== removals) return;
      const isRight = digests[i] === blocks.hexes[block];
      if (isRight && this.#trust.suspects(block).length === 0) continue;
      await this.#right({ first: from, count: block - from });
      from = block + 1;
      if (isRight) await this.#rightAgain(block, removals);
      else await this.#wrong(block);
    }
    if (file.removals === removals) await this.#right({ first: from, count: first + count - from });
  }

  /** Notes blocks that are right. */
  async #right(run: Run): Promise<void> {
    if (run.count === 0) return;
    const { file, sources, onRight } = this.#options;
    const range = this.#rangeOf(run);
    this.#proven.add(range);
    for (const source of sources()) source.unproven.remove(range);
    for (let block = run.first; block < run.first + run.count; block++)
      this.#trust.onRight(block, []);
    await file.prove(range, this.#by);
    onRight?.();
  }

  /** Notes a block that is right now, and compares what sources gave of it when it was wrong. */
  async #rightAgain(block: number, removals: number): Promise<void> {
    const { file } = this.#options;
    const suspects = this.#trust.suspects(block);
    const digests = await this.#digests(suspects.map((one) => one.range));
    if (file.removals !== removals) return;
    const left = this.#trust.onRight(block, digests);
    await this.#right({ first: block, count: 1 });
    await this.#leave(left);
  }

  async #wrong(block: number): Promise<void> {
    const { file, sources, onWrong } = this.#options;
    const range = this.#range(block);
    this.#wrongBlocks++;
    const parts = sources().filter(({ given }) => given.bytesWithin(range) > 0);
    const alone = parts.length === 1 && parts[0]?.given.covers(range) ? parts[0].id : undefined;
    const given = await this.#given(range, parts);
    for (const source of parts) {
      source.given.remove(range);
      source.unproven.remove(range);
    }
    await file.forget(range);
    // Of an earlier run: anybody may bring it, and nobody is to blame.
    if (parts.length === 0) return onWrong();
    const ids = parts.map(({ id }) => id);
    await this.#leave(this.#trust.onWrong(block, alone, ids, given));
    onWrong();
  }

  /** Computes digests in a wrong block: of the largest part that each source alone has given. */
  async #given(range: ByteRange, parts: readonly DownloadSource[]): Promise<Given[]> {
    const found = parts.flatMap((source) => {
      const own = new RangeSet(source.given.ranges.flatMap((one) => intersect(one, range) ?? []));
      for (const other of parts) {
        if (other !== source) for (const one of other.given.ranges) own.remove(one);
      }
      const [part] = [...own.ranges].sort((a, b) => rangeBytes(b) - rangeBytes(a));
      return part === undefined ? [] : [{ source: source.id, range: part }];
    });
    const digests = await this.#digests(found.map((one) => one.range));
    return found.map((one, i) => ({ ...one, digest: digests[i] as string }));
  }

  #digests(ranges: readonly ByteRange[]): Promise<readonly string[]> {
    return this.#options.hasher.digestsOf('sha256', ranges);
  }

  async #leave(ids: readonly string[]): Promise<void> {
    const { sources, file, onLeft } = this.#options;
    for (const source of sources()) {
      if (!ids.includes(source.id) || source.health.quarantine !== undefined) continue;
      const error = new MillraceError('wrong-digest', { code: 'blocks-differ' });
      source.health.quarantineFor(error);
      // Its bytes of incomplete blocks are worth as little, and others would be compared with them.
      const doubtful = source.given.ranges.flatMap((range) => this.#proven.missing(range));
      for (const range of doubtful) await file.forget(range);
      onLeft(source, error);
    }
  }

  /** Returns true for a source that can be asked, unless it keeps a request waiting. */
  #isLively(source: DownloadSource): boolean {
    const now = this.#options.now();
    if ((source.health.usableAt() ?? Infinity) > now) return false;
    return !this.#options.isAsked(source) || now - source.heardAt < SILENT_MS;
  }

  #range(block: number): ByteRange {
    return pieceRange(this.#options.blocks, this.#options.size, block);
  }

  #rangeOf({ first, count }: Run): ByteRange {
    return { start: this.#range(first).start, end: this.#range(first + count - 1).end };
  }
}

/** Returns a name that no other digests of a file have. */
function nameOf({ algorithm, pieceBytes, hexes, from, tree }: PieceDigests, size: number): string {
  const text = JSON.stringify([size, algorithm, pieceBytes, from ?? 0, tree === true, hexes]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
