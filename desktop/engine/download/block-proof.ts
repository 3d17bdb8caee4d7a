/**
 * Proves the blocks of a file by their digests as they become complete. A wrong block is fetched
 * again, and `BlockTrust` decides of whom, and who is left because of it.
 */

import { type ByteRange, intersect, RangeSet, rangeBytes } from '@millrace/shared/base/byte-range';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { BlockTrust, type Given } from '@millrace/shared/download/exnode/block-trust';
import { holdsOf } from '@millrace/shared/download/exnode/part-holds';
import { blockRange, type ReadableExnode } from '@millrace/shared/exnode/exnode';
import type { FileHasher } from '../hash/file-hasher.ts';
import type { PartialFile } from '../partial/partial-file.ts';
import type { PartSource } from '../sources/exnode/place-source.ts';

/** Silence after which another source may bring a block that one alone was to bring. */
const SILENT_MS = 2000;

export interface BlockProofOptions {
  readonly exnode: ReadableExnode;
  readonly file: PartialFile;
  readonly hasher: FileHasher;
  readonly sources: readonly PartSource[];
  /** Returns true while requests to a source are under way. */
  readonly isAsked: (source: PartSource) => boolean;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Called with a source that has sent wrong bytes and is not used any more. */
  readonly onLeft: (source: PartSource, error: MillraceError) => void;
  /** Called when a block has turned out right. */
  readonly onRight: () => void;
  /** Called when a block has to be fetched again, and when others may bring one. */
  readonly onWrong: () => void;
  /** Called with the error that ends the proof. */
  readonly onFailed: (error: MillraceError) => void;
}

export class BlockProof {
  readonly #options: BlockProofOptions;
  readonly #trust: BlockTrust;
  readonly #proven = new RangeSet();
  #running: Promise<void> | undefined;
  #failure: MillraceError | undefined;
  #wrongBlocks = 0;

  constructor(options: BlockProofOptions) {
    this.#options = options;
    const { sources, exnode } = options;
    const byId = new Map(sources.map((source) => [source.id, source]));
    this.#trust = new BlockTrust({
      holders: (block) =>
        sources.filter(({ parts }) => has(parts, blockRange(exnode, block))).map(({ id }) => id),
      isUsable: (id) => {
        const source = byId.get(id);
        return source !== undefined && this.#isLively(source);
      },
    });
    for (const source of sources) {
      const denied = () => this.#denied(source.id);
      source.setHolds(holdsOf(() => source.parts, denied));
    }
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
    const { pieceBytes } = this.#options.exnode.blocks;
    const start = Math.floor(range.start / pieceBytes) * pieceBytes;
    this.#proven.remove({ start, end: Math.ceil(range.end / pieceBytes) * pieceBytes });
  }

  /**
   * Proves all blocks that are complete.
   *
   * @returns true if these are all blocks of the file, and all are right
   * @throws MillraceError `wrong-digest` if no source seems to have the right bytes of a block;
   *   those of the disk
   */
  async finish(): Promise<boolean> {
    do {
      this.advance();
      await this.#running;
      if (this.#failure !== undefined) throw this.#failure;
    } while (this.#next() !== undefined);
    return this.#proven.bytes === this.#options.exnode.size;
  }

  async #run(): Promise<void> {
    for (let block = this.#next(); block !== undefined; block = this.#next()) {
      await this.#prove(block);
      const hopeless = this.#trust.hopeless();
      if (hopeless === undefined) continue;
      const { start, end } = blockRange(this.#options.exnode, hopeless);
      const detail = `no source has the right bytes ${start}-${end - 1}`;
      throw new MillraceError('wrong-digest', detail);
    }
  }

  /** Finds a complete block that is not proven. */
  #next(): number | undefined {
    const { exnode, file } = this.#options;
    for (const range of file.stored.ranges) {
      for (const gap of this.#proven.missing(range)) {
        const block = Math.ceil(gap.start / exnode.blocks.pieceBytes);
        if (block >= exnode.blocks.hexes.length) continue;
        if (blockRange(exnode, block).end <= gap.end) return block;
      }
    }
    return undefined;
  }

  async #prove(block: number): Promise<void> {
    const { exnode, file, hasher, sources } = this.#options;
    const range = blockRange(exnode, block);
    const { removals } = file;
    // Depots and exNodes know the ciphertext of an encrypted file, and the disk has the plain one.
    const digest = await hasher.digestOf('sha256', range, exnode.bodyKey);
    if (digest === exnode.blocks.hexes[block]) {
      const suspects = this.#trust.suspects(block);
      const digests = await this.#digests(suspects.map((one) => one.range));
      if (file.removals !== removals) return;
      this.#proven.add(range);
      for (const source of sources) source.unproven.remove(range);
      this.#leave(this.#trust.onRight(block, digests));
      this.#options.onRight();
      return;
    }
    // Other bytes of it may have been read than are there now.
    if (file.removals !== removals) return;
    this.#wrongBlocks++;
    const parts = sources.filter(({ given }) => given.bytesWithin(range) > 0);
    const alone = parts.length === 1 && parts[0]?.given.covers(range) ? parts[0].id : undefined;
    const given = await this.#given(range, parts);
    for (const source of parts) source.given.remove(range);
    await file.forget(range);
    // Of an earlier run: anybody may bring it, and nobody is to blame.
    if (parts.length === 0) return this.#options.onWrong();
    const ids = parts.map(({ id }) => id);
    this.#leave(this.#trust.onWrong(block, alone, ids, given));
    this.#options.onWrong();
  }

  /** Computes digests in a wrong block: of the largest part that each source alone has given. */
  async #given(range: ByteRange, parts: readonly PartSource[]): Promise<Given[]> {
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

  #digests(ranges: readonly ByteRange[]): Promise<string[]> {
    return Promise.all(ranges.map((range) => this.#options.hasher.digestOf('sha256', range)));
  }

  #leave(ids: readonly string[]): void {
    const { sources, onLeft } = this.#options;
    for (const source of sources) {
      if (!ids.includes(source.id) || source.health.quarantine !== undefined) continue;
      const error = new MillraceError('wrong-digest', 'blocks from it have another digest');
      source.health.quarantineFor(error);
      onLeft(source, error);
    }
  }

  /** Returns true for a source that can be asked, unless it keeps a request waiting. */
  #isLively(source: PartSource): boolean {
    const now = this.#options.now();
    if ((source.health.usableAt() ?? Infinity) > now) return false;
    return !this.#options.isAsked(source) || now - source.heardAt < SILENT_MS;
  }

  /** Lists the blocks that a source may not bring now. */
  #denied(id: string): ByteRange[] {
    const { exnode } = this.#options;
    const denied = this.#trust.wrong.filter((block) => !this.#trust.mayBring(id, block));
    return denied.map((block) => blockRange(exnode, block));
  }
}

function has(parts: readonly ByteRange[], { start, end }: ByteRange): boolean {
  return parts.some((part) => part.start <= start && end <= part.end);
}
