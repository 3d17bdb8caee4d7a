/**
 * The parity of a download from an exNode with coded extents: tells the coded source which places
 * can still be asked, reads what is stored, and counts what is received.
 */

import { type ByteRange, shownRanges } from '@millrace/shared/base/byte-range';
import { isMillraceError, isOfSource, MillraceError } from '@millrace/shared/base/errors';
import { hasBlock, LateBlocks } from '@millrace/shared/download/exnode/late-blocks';
import type { Scheduler } from '@millrace/shared/download/scheduler/scheduler';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import { blockRange, type ReadableExnode } from '@millrace/shared/exnode/exnode';
import { usedReplicas } from '@millrace/shared/exnode/places';
import { solvableBlocks } from '@millrace/shared/exnode/row-solver';
import type { PartialFile } from '../partial/partial-file.ts';
import { BodyCipher } from '../seal/body-cipher.ts';
import type { Connections } from '../sources/connections.ts';
import { CodedSource } from '../sources/exnode/coded-source.ts';
import { ParityBlocks } from '../sources/exnode/parity-blocks.ts';
import type { PlaceSource } from '../sources/exnode/place-source.ts';
import type { BlockProof } from './block-proof.ts';
import type { DownloadWay } from './download-way.ts';

/** Silence after which parity may replace what a place was asked for. */
const SILENT_MS = 2000;
/**
 * Longest rest of the parity as a whole after blocks could not be solved: a depot that fails rests by
 * itself, and what the others have is wanted at once.
 */
const MAX_REST_MS = 20;

export interface ParityOfDownload
  extends Pick<DownloadWay, 'request' | 'session' | 'context' | 'report' | 'sources'> {
  readonly exnode: ReadableExnode;
  readonly connections: Connections;
}

export class Parity {
  readonly #options: ParityOfDownload;
  readonly #blocks: ParityBlocks;
  #places: readonly PlaceSource[] = [];
  #proof: BlockProof | undefined;
  #source: CodedSource | undefined;
  #late: LateBlocks | undefined;
  #begunAt = 0;

  constructor(options: ParityOfDownload) {
    this.#options = options;
    const { exnode, context, connections, session, report } = options;
    this.#blocks = new ParityBlocks({
      isUsed: usedReplicas(exnode, Date.now()),
      open: (url) => connections.source('mirror', url, context.random),
      random: context.random,
      now: session.now,
      onBytes: (count, signal) => session.onBytes(this.#source as CodedSource, count, signal),
      onWrong: (depot, error) => {
        const source = connections.source('mirror', `${depot}/`, context.random);
        source.health.quarantineFor(error);
        report.sourceFailed(source, error);
      },
    });
  }

  /** The session of transfers: bytes of parity count as received, and what is solved does not. */
  get session(): ParityOfDownload['session'] {
    const { session } = this.#options;
    return {
      ...session,
      onBytes: (source, count, signal) =>
        source === this.#source ? undefined : session.onBytes(source, count, signal),
    };
  }

  /**
   * Makes the source.
   *
   * @param scheduler returns that of the transfer under way
   */
  begin(
    file: PartialFile,
    places: readonly PlaceSource[],
    scheduler: () => Scheduler | undefined,
  ): CodedSource {
    const { exnode, context, session, request } = this.#options;
    const extents = exnode.coded ?? [];
    const { pieceBytes } = exnode.blocks;
    const share = request.redundantShare;
    const begun = pieceBytes * Math.max(...extents.map(({ parity }) => parity));
    this.#places = places;
    this.#begunAt = session.now();
    this.#source = new CodedSource({
      extents,
      blockBytes: pieceBytes,
      state: {
        isProven: (block) => this.#proof?.isProven(block) === true,
        canCome: (block) => this.#canCome(block),
        isLate: (block) => this.#late?.isLate(block) === true,
        isUrgent: () => scheduler()?.isRead === true,
      },
      parity: this.#blocks,
      stamp: () => {
        const live = this.#places.map((place) => `${this.#isLive(place)} ${place.parts.length}`);
        return `${this.#proof?.wrongBlocks} ${live.join()} ${this.#late?.stamp} ${scheduler()?.isRead}`;
      },
      provenWithin: (range) => this.#proof?.provenWithin(range) ?? 0,
      onSolving: (block) => this.#late?.onSolving(block) ?? (() => {}),
      isProving: () => this.#proof?.isRunning === true,
      readStored: readingStream(file, exnode.bodyKey),
      health: new SourceHealth(context.random, MAX_REST_MS),
    });
    this.#late = new LateBlocks({
      places: () => this.#places.filter((place) => this.#isLive(place)),
      // Of the extent that has the least.
      parity: () =>
        extents
          .map((extent) => this.#blocks.rates(extent))
          .reduce((least, rates) => (rates.length < least.length ? rates : least)),
      stored: (block) => file.stored.bytesWithin(block),
      // In small files too, each depot that parity replaces may have begun a block.
      mostTwice: share === 0 ? 0 : Math.max(exnode.size * share, begun),
      scheduler,
      now: session.now,
    });
    return this.#source;
  }

  /** True if blocks can be solved now. */
  get canSolve(): boolean {
    return (this.#source?.parts.length ?? 0) > 0;
  }

  /** Ends what is read beside the transfers. */
  end(): void {
    this.#source?.end();
  }

  /** Sets the proof of the blocks. */
  setProof(proof: BlockProof): void {
    this.#proof = proof;
  }

  /**
   * Returns what a failure of places means if bytes are lost by it; undefined: nothing more is known.
   */
  failureOf(error: unknown): MillraceError | undefined {
    if (!isMillraceError(error) || !isOfSource(error.row)) return undefined;
    const { exnode } = this.#options;
    const { pieceBytes, hexes } = exnode.blocks;
    const state = {
      isProven: (block: ByteRange) => this.#proof?.isProven(block) === true,
      canCome: (block: ByteRange) => this.#canCome(block),
      isLate: () => false,
      isUrgent: () => true,
      parityOf: this.#blocks.answering.bind(this.#blocks),
    };
    const solvable = new Set(
      solvableBlocks(exnode.coded ?? [], pieceBytes, state).map(({ start }) => start),
    );
    const lost = hexes
      .map((_, block) => blockRange(exnode, block))
      .filter(
        (block) => !state.isProven(block) && !state.canCome(block) && !solvable.has(block.start),
      );
    if (lost.length === 0) return undefined;
    const detail = `too few depots answer for ${shownRanges(lost)}: ${error.message}`;
    return new MillraceError('file-lost', detail, { cause: error });
  }

  /**
   * Tells whether a place can be asked for a block. One that has sent it wrong may be asked once
   * more: then it is left, and the block is solved.
   */
  #canCome(block: ByteRange): boolean {
    return this.#places.some((place) => this.#isLive(place) && hasBlock(place, block));
  }

  /** Returns true for a place that can be asked, unless it keeps a request waiting. */
  #isLive(place: PlaceSource): boolean {
    const { session, sources } = this.#options;
    if (place.health.quarantine !== undefined || place.health.lastFailure !== undefined)
      return false;
    if (sources.active(place) === 0) return true;
    return session.now() - Math.max(place.heardAt, this.#begunAt) < SILENT_MS;
  }
}

/**
 * Returns the function that reads stored bytes as depots have them: those of an encrypted file are
 * plain on the disk, and parity is that of the ciphertext.
 */
function readingStream(file: PartialFile, bodyKey: Uint8Array | undefined) {
  if (bodyKey === undefined) return file.read.bind(file);
  const cipher = new BodyCipher(bodyKey);
  return async (into: Buffer, position: number): Promise<number> => {
    const count = await file.read(into, position);
    if (count > 0) cipher.lend(position, into.subarray(0, count), (made) => made.copy(into));
    return count;
  };
}
