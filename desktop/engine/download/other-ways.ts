/**
 * Chooses another way if the admitted sources cannot continue. An excluded source stays excluded,
 * and each way excludes at least one: the ways come to an end.
 */

import {
  type ErrorCode,
  EXIT,
  isMillraceError,
  type MillraceError,
} from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import type { PinnedVersion } from '@millrace/shared/http/answers/range-contract';
import type { DownloadSource } from '../sources/download-source.ts';

/** Failures which mean that the received bytes belong to another file. */
const WRONG_FILE: ReadonlySet<ErrorCode> = new Set(['wrong-digest', 'checksum-mismatch']);
/** Reasons why a source cannot serve ranges, though it may have the file. */
const WHOLE_ONLY: ReadonlySet<ErrorCode> = new Set(['version-unproven', 'range-ignored']);

/** Ways in which partial answers break the contract, while a whole answer may be right. */
const BREACHES: ReadonlySet<ErrorCode> = new Set([
  ...WHOLE_ONLY,
  'malformed-response',
  'wrong-range',
  'version-changed',
  'wrong-encoding',
]);
/** Most stored bytes to give up for a whole answer, which cannot be resumed. */
const MAX_GIVEN_UP_BYTES = 64 * 1024 * 1024;

/**
 * Returns true for a source that was turned away because it differed from the first one. An edge of
 * the house that differs says nothing about the first one.
 */
export function isDoubted({ health, kind }: DownloadSource): boolean {
  return health.quarantine?.code === 'different-file' && kind !== 'house';
}

/** Returns true for a source whose own answers have proven it unreliable. */
function isRefuted(source: DownloadSource): boolean {
  return source.health.quarantine?.row.bytes === 'dropped' && !isDoubted(source);
}

/** Tells how it is known whether the bytes of the last way were those of the file. */
export interface Proof {
  /** True if the user gave a digest, and the bytes came in range answers. */
  readonly proves?: boolean;
  /** True if a source stated the digest of the file, and the bytes came in range answers. */
  readonly isSaid?: boolean;
  /** True if the user gave a digest, and the bytes were one whole answer of the first source. */
  readonly provesWhole?: boolean;
}

export class OtherWays {
  /** Ids of sources that must not be asked any more. */
  readonly #excluded = new Set<string>();
  /** True once the only sources left may give the file in one piece. */
  #inOnePiece = false;
  /** Ids of the only sources to ask, for whole answers; undefined: ranges are asked for. */
  #whole: ReadonlySet<string> | undefined;
  /** Ids of sources whose partial answers broke the contract. */
  readonly #breached = new Set<string>();

  readonly #stated: PinnedVersion[] = [];
  #wrongParts: MillraceError | undefined;
  #wrongWhole: MillraceError | undefined;

  /** Versions that partial answers stated. */
  get stated(): readonly PinnedVersion[] {
    return this.#stated;
  }

  /** The checksum error because of which whole answers are asked for; undefined: none. */
  get wrongParts(): MillraceError | undefined {
    return this.#wrongParts;
  }

  /** The checksum error because of which other sources are asked; undefined: none. */
  get wrongWhole(): MillraceError | undefined {
    return this.#wrongWhole;
  }

  /**
   * True once the whole file is requested in one answer: the last way, for servers whose ranges
   * cannot be used.
   */
  get asksForWhole(): boolean {
    return this.#whole !== undefined;
  }

  /** Returns true for a source that must not be asked any more. */
  excludes(id: string): boolean {
    return this.#excluded.has(id) || this.#whole?.has(id) === false;
  }

  /** Notes the versions that the partial answers of an attempt stated. */
  noteStated(sources: readonly DownloadSource[]): void {
    for (const { stated } of sources) this.#stated.push(...stated);
  }

  /**
   * Chooses another way.
   *
   * @param sources in their state at the end of the previous way
   * @param first the source that defined the file; undefined: none has
   * @param storedBytes stored bytes of the file
   * @returns a note for the user; undefined: there is no other way
   */
  next(
    error: unknown,
    sources: readonly DownloadSource[],
    first: DownloadSource | undefined,
    storedBytes: number,
    { proves = false, isSaid = false, provesWhole = false }: Proof = {},
  ): Note | undefined {
    if (!isMillraceError(error)) return undefined;
    // Other sources are of the same publisher, or of nobody.
    if (error.code === 'bad-signature') return undefined;
    // Another source cannot help with problems of this machine, or with the user's own orders.
    if (error.row.scope !== 'source' && error.row.scope !== 'node') return undefined;
    if (this.#whole !== undefined) return this.#nextInOnePiece(sources, first);
    for (const source of sources) {
      const code = source.health.quarantine?.code;
      const { stated = [] } = source;
      const isBreach = (of: ErrorCode) =>
        // A wrong length is no reason to believe a whole answer, unless the right one is known.
        BREACHES.has(of) || (of === 'wrong-length' && stated.length > 0);
      const isAtFault = code !== undefined && isBreach(code);
      // A download that starts over for each new version ends with the source in good standing.
      if (isAtFault || (source === first && isBreach(error.code))) this.#breached.add(source.id);
    }
    if (first !== undefined && provesWhole && error.row.exit === EXIT.checksum) {
      this.#wrongWhole ??= error;
      return this.#withoutWrongWhole(sources, first);
    }
    const way = first && this.#byRanges(error, sources, first, storedBytes);
    return way ?? this.#asWhole(error, sources, storedBytes, proves, isSaid);
  }

  #byRanges(
    error: MillraceError,
    sources: readonly DownloadSource[],
    first: DownloadSource,
    storedBytes: number,
  ): Note | undefined {
    if (this.#inOnePiece) return this.#nextInOnePiece(sources, first);
    if (WRONG_FILE.has(error.code) && sources.some(isDoubted)) {
      return this.#withoutWrong(sources, error.code === 'checksum-mismatch');
    }
    if (error.row.exit === EXIT.checksum) return undefined;
    if (isRefuted(first) && sources.some(isDoubted)) return this.#withoutFirst(sources, first);
    if (storedBytes === 0 && first.health.quarantine !== undefined && sources.length > 1) {
      this.#excluded.add(first.id);
      return noteOf('first-left-out', { source: first.label });
    }
    return this.#wholeOnly(sources);
  }

  /**
   * Excludes sources of the wrong file, after the reference source had it: sources that differed
   * from it may have the right one.
   */
  #withoutWrong(sources: readonly DownloadSource[], all: boolean): Note | undefined {
    const wrong = sources.filter(
      ({ given, health }) => health.quarantine?.code === 'wrong-digest' || (all && given.bytes > 0),
    );
    for (const { id } of wrong) this.#excluded.add(id);
    return wrong.length === 0 ? undefined : noteOf('wrong-file');
  }

  /** Excludes a source whose whole answer was not the file; any other source may have it. */
  #withoutWrongWhole(sources: readonly DownloadSource[], first: DownloadSource): Note | undefined {
    this.#excluded.add(first.id);
    const isLeft = sources.some((source) => !this.#excluded.has(source.id) && !isRefuted(source));
    return isLeft ? noteOf('wrong-file') : undefined;
  }

  /**
   * Excludes unreliable sources, after the reference source broke the range contract: its statement
   * about the file counts no more than those of the sources that differed from it.
   */
  #withoutFirst(sources: readonly DownloadSource[], first: DownloadSource): Note {
    for (const source of sources) {
      if (isRefuted(source)) this.#excluded.add(source.id);
    }
    return noteOf('first-contradicts', { source: first.label });
  }

  /**
   * Keeps only sources that could not serve ranges: they may still give the file in one piece.
   */
  #wholeOnly(sources: readonly DownloadSource[]): Note | undefined {
    const whole = sources.filter(({ health }) => {
      const code = health.quarantine?.code;
      return code !== undefined && WHOLE_ONLY.has(code);
    });
    if (whole.length === 0) return undefined;
    this.#inOnePiece = true;
    for (const source of sources) if (!whole.includes(source)) this.#excluded.add(source.id);
    return noteOf('one-piece');
  }

  /**
   * Moves on to the next source for a file in one piece, which comes from one source at a time:
   * after any failure of one source, the next may have the file.
   */
  #nextInOnePiece(
    sources: readonly DownloadSource[],
    failed: DownloadSource | undefined,
  ): Note | undefined {
    if (failed === undefined) return undefined;
    this.#excluded.add(failed.id);
    const left = sources.some(({ id }) => !this.#excluded.has(id));
    return left ? noteOf('next-in-one-piece', { source: failed.label }) : undefined;
  }

  /**
   * Asks for whole answers: of the origin, and of mirrors too if the user's digest shows whether
   * their file is the right one. Bytes with a wrong digest came in range answers, so a whole answer
   * may differ from them.
   */
  #asWhole(
    error: MillraceError,
    sources: readonly DownloadSource[],
    storedBytes: number,
    proves: boolean,
    isSaid: boolean,
  ): Note | undefined {
    const isWrong = error.row.exit === EXIT.checksum;
    const isTold = proves || isSaid;
    if (isWrong ? !isTold || this.#inOnePiece : storedBytes > MAX_GIVEN_UP_BYTES) return undefined;
    const whole = sources.filter(
      ({ id, kind }) => (isWrong || this.#breached.has(id)) && (proves || kind === 'origin'),
    );
    if (whole.length === 0) return undefined;
    if (isWrong) this.#wrongParts = error;
    this.#excluded.clear();
    this.#whole = new Set(whole.map(({ id }) => id));
    // A wrong digest does not show who is wrong: the parts, or whoever gave the digest.
    return noteOf(isWrong ? 'whole-to-compare' : 'whole-answer');
  }
}
