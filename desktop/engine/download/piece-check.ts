/**
 * Checks the pieces of a download while it runs, by digests that a Metalink, a torrent or a server has
 * stated: a source of wrong bytes is found before it has sent all of the file.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { PieceDigests } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import type { Statement } from '@millrace/shared/download/metalink/description-merge';
import type { BlockTransfer } from '@millrace/shared/download/transfer/block-transfer';
import { FileCheck } from '../hash/file-check.ts';
import type { DownloadSource } from '../sources/download-source.ts';
import { BlockProof } from './block-proof.ts';
import type { DownloadWay } from './download-way.ts';
import { isDoubted } from './other-ways.ts';

/** Most wrong pieces with a note of their own, written at once; others are counted together. */
const MOST_NOTES = 8;

export interface PieceCheckOptions
  extends Pick<DownloadWay, 'session' | 'report' | 'sources' | 'target' | 'file'> {
  /** Length of the file, bytes. */
  readonly length: number;
  /** Returns the transfer under way. */
  readonly transfer: () => BlockTransfer<DownloadSource> | undefined;
  /** Called when wrong pieces are known: sources are restricted from now on. */
  readonly onWrong: () => void;
}

export class PieceCheck {
  readonly #options: PieceCheckOptions;
  #pieces: PieceDigests | undefined;
  #proof: BlockProof | undefined;
  #notes = 0;
  /** Wrong pieces without a note. */
  #unnoted = 0;

  constructor(options: PieceCheckOptions) {
    this.#options = options;
  }

  /** Begins unless it has begun. @param pieces that fit the file; undefined: none are known */
  begin(pieces: PieceDigests | undefined): void {
    if (pieces === undefined || this.#pieces !== undefined) return;
    this.#use(pieces);
    this.#proof?.advance();
  }

  /** Begins with pieces of statements that are found. What contradicts others is reported at the end. */
  async beginWith(found: Promise<readonly Statement[]>): Promise<void> {
    try {
      this.begin(new FileCheck(await found).piecesOf(this.#options.length));
    } catch {}
  }

  /** Checks the pieces that have become complete. */
  onStored(): void {
    this.#proof?.advance();
  }

  /** Notes that bytes are no longer stored. */
  onLost(range: ByteRange): void {
    this.#proof?.onLost(range);
  }

  /** Keeps a source from bringing wrong pieces that others are to bring. */
  restrict(source: DownloadSource): void {
    if ((this.#proof?.wrongBlocks ?? 0) > 0) this.#proof?.restrict(source);
  }

  /**
   * Checks all pieces of the complete file.
   *
   * @param pieces that the file must have: others than before may have been found meanwhile
   * @returns false if some have to be fetched again
   * @throws MillraceError `wrong-digest`; those of the disk
   */
  async finish(pieces: PieceDigests | undefined): Promise<boolean> {
    if (pieces === undefined) return true;
    if (pieces !== this.#pieces) this.#use(pieces);
    const isRight = (await this.#proof?.finish()) !== false;
    const n = this.#unnoted;
    this.#unnoted = 0;
    if (n > 0) this.#options.report.note(noteOf('pieces-again', { n }));
    if (this.#isUndone) throw new MillraceError('wrong-digest');
    return isRight;
  }

  /** Returns what the failure of a transfer means after what was found. */
  failureOf(error: unknown): unknown {
    return this.#isUndone ? new MillraceError('wrong-digest', undefined, { cause: error }) : error;
  }

  /** True if a source has been left that may have put others in doubt, which then could be right. */
  get #isUndone(): boolean {
    const { sources } = this.#options.sources;
    return sources.some(isCaught) && sources.some(isDoubted);
  }

  #use(pieces: PieceDigests): void {
    const { session, report, sources, target, file, length, transfer, onWrong } = this.#options;
    this.#pieces = pieces;
    this.#proof = new BlockProof({
      ...{ size: length, blocks: pieces, file, hasher: target.hasher },
      sources: () => sources.sources,
      isAsked: (source) => sources.active(source) > 0,
      isNeeded: (source) => sources.sources.every((other) => other === source || isUseless(other)),
      now: session.now,
      onLeft: (source, error) => {
        report.sourceFailed(source, error);
        if (this.#isUndone) transfer()?.stop(new MillraceError('wrong-digest'));
        else transfer()?.giveBack(source.host, Infinity);
      },
      onWrong: () => {
        if (++this.#notes > MOST_NOTES) this.#unnoted++;
        else report.note(noteOf('pieces-again', { n: 1 }));
        onWrong();
        transfer()?.kick();
      },
      onFailed: (error) => transfer()?.stop(error),
    });
  }
}

/** Returns true for a source that has sent wrong pieces, and that others were compared with. */
function isCaught({ kind, health }: DownloadSource): boolean {
  // Nothing is compared with the bytes of an edge of the house.
  return kind !== 'house' && health.quarantine?.code === 'wrong-digest';
}

/** Returns true for a source that will not bring anything. */
function isUseless(source: DownloadSource): boolean {
  return source.health.quarantine !== undefined && !isDoubted(source);
}
