/**
 * The one table of errors. Every failure that a user, a client or an operator can see has a row
 * here: a stable code, the HTTP status an edge answers with, its meaning for code that decides how
 * to continue, the exit status of the command line, and what to do about it.
 */

import { DEPOT_ERRORS } from './error-table/depot-errors.ts';
import { DOWNLOAD_ERRORS } from './error-table/download-errors.ts';
import { EDGE_ERRORS } from './error-table/edge-errors.ts';
import type { ErrorRow, Meaning } from './error-table/error-row.ts';
import {
  type Detail,
  detailText,
  type Particulars,
  readParticulars,
} from './error-table/particulars.ts';
import { SOURCE_ERRORS } from './error-table/source-errors.ts';

export { type ErrorRow, EXIT, type Meaning } from './error-table/error-row.ts';

export const ERRORS = {
  ...EDGE_ERRORS,
  ...DEPOT_ERRORS,
  ...SOURCE_ERRORS,
  ...DOWNLOAD_ERRORS,
} as const satisfies Record<string, ErrorRow>;

/** A code of the table. */
export type ErrorCode = keyof typeof ERRORS;

const CODES: ReadonlySet<string> = new Set(Object.keys(ERRORS));

/** Returns true for codes of this table; other programs and other versions may send others. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && CODES.has(code);
}

/** An error of the table, with the particulars of this occurrence. */
export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly code: ErrorCode;
  /** Particulars of this occurrence in English: a clause without a full stop, may be empty. */
  readonly detail: string;
  /** The detail as data, for other languages; undefined if `detail` is free text. */
  readonly particulars: Particulars | undefined;
  /** Milliseconds that the other side asked us to wait (Retry-After), if it did. */
  readonly retryAfterMs: number | undefined;
  /** True if the source sends the file in one piece: the next run starts from the beginning. */
  readonly onePiece: boolean;

  /**
   * @param detail a detail of the table, for whatever a person reads; as text what another program
   *   has said, and what only operators see
   * @param options.particulars the detail as data, where `detail` is its text: what another program
   *   has sent, which need not be a detail of this version
   */
  constructor(
    code: ErrorCode,
    detail: string | Detail = '',
    options: {
      cause?: unknown;
      particulars?: unknown;
      retryAfterMs?: number | undefined;
      onePiece?: boolean | undefined;
    } = {},
  ) {
    const text = typeof detail === 'string' ? detail : detailText(detail);
    super(
      text === '' ? ERRORS[code].title : `${ERRORS[code].title}: ${text}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.detail = text;
    this.particulars = typeof detail === 'string' ? readParticulars(options.particulars) : detail;
    this.retryAfterMs = options.retryAfterMs;
    this.onePiece = options.onePiece ?? false;
  }

  /** The error's row in the table. */
  get row(): ErrorRow {
    return ERRORS[this.code];
  }

  /** Advice of the row, by whether the download can be continued. */
  get advice(): string {
    return adviceOf(this.row, this.onePiece);
  }

  /** The detail as another error can give it as its reason. */
  get reason(): string | Particulars {
    return this.particulars ?? this.detail;
  }

  /** Returns an error with another code and the same detail, caused by this one. */
  as(
    code: ErrorCode,
    options: { cause?: unknown; retryAfterMs?: number | undefined; onePiece?: boolean } = {},
  ): MillraceError {
    const { detail, particulars } = this;
    return new MillraceError(code, detail, { cause: this, particulars, ...options });
  }

  /** Returns the error of a download whose source sends the file in one piece. */
  ofOnePiece(): MillraceError {
    return this.as(this.code, { retryAfterMs: this.retryAfterMs, onePiece: true });
  }
}

/**
 * Returns the advice of a row.
 *
 * @param onePiece true for a file that its source sends in one piece, which no run continues
 */
export function adviceOf({ advice, onePiece: instead }: ErrorRow, onePiece = false): string {
  return onePiece ? (instead ?? advice) : advice;
}

/** Returns true for failures that waiting, or asking for the rest at once, can mend. */
export function isPassing({ again }: Meaning): boolean {
  return again === 'later' || again === 'at once';
}

/** Returns true for failures of a source, or of a node on the way: another source may do better. */
export function isOfSource({ scope }: Meaning): boolean {
  return scope === 'source' || scope === 'node';
}

/** Returns true for failures of the downloading machine that no source and no waiting can mend. */
export function endsDownload(meaning: Meaning): boolean {
  return meaning.scope === 'download' && !isPassing(meaning);
}

/** Returns true when `error` is an error of the table, of the given code if one is given. */
export function isMillraceError(error: unknown, code?: ErrorCode): error is MillraceError {
  return error instanceof MillraceError && (code === undefined || error.code === code);
}

/** Returns `error` itself if it is of the table, otherwise wraps it as `internal`. */
export function asMillraceError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new MillraceError('internal', detail, { cause: error });
}
