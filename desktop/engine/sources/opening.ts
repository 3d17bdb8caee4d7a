/**
 * The first answer of a download, which defines the file. Sources are asked one after the other,
 * and the next one also while an earlier one is slow. The first good answer counts.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { OriginAnswer } from '@millrace/shared/download/request/edge-use';
import type { Patience } from '@millrace/shared/download/transfer/patience';
import type { Session } from '@millrace/shared/download/transfer/session';
import { canPin } from '@millrace/shared/http/fields/validators';
import type { DownloadSource } from './download-source.ts';
import { isPage, type Opened } from './source-answer.ts';
import type { SourceSet } from './source-set.ts';

export interface First {
  readonly source: DownloadSource;
  readonly opened: Opened;
}

export interface OpeningOptions {
  readonly sources: SourceSet;
  /** Length that the file must have, in bytes; undefined if it is not known. */
  readonly length: number | undefined;
  /** True to ask for the whole file in one answer. */
  readonly asksForWhole: boolean;
  /** True if no byte of the file may be stored yet: the first answer may bring all of it. */
  readonly isNew: boolean;
  readonly session: Session<DownloadSource>;
  /** Limits the whole search for a source, however many calls it takes. */
  readonly patience: Patience;
  /**
   * Called with the origin's answer before any edge is asked; quarantines edges that the answer
   * forbids.
   */
  readonly onOrigin: (answer: OriginAnswer) => Promise<void>;
  /** Called with a source that refuses ranges, but has sent the whole file. */
  readonly onRefused: (source: DownloadSource, error: MillraceError) => void;
}

/** Refusals that may be about the range. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  ...(['origin-denied', 'origin-not-found', 'origin-gone', 'origin-error'] as const),
]);
/** Failures that usually pass, but may be about the range as well. */
const OFTEN: ReadonlySet<ErrorCode> = new Set(['origin-busy', 'origin-reset']);

/** Bytes of the first answer to read at once: enough for a small file, and little to discard. */
export const FIRST_BYTES = 64 * 1024;
/** Milliseconds without an answer after which the next source is asked as well. */
const COMPANY_MS = 2000;

/**
 * Finds a source that answers. A source that can show which version a range belongs to is
 * preferred; any other is taken only if there is no such source.
 *
 * @throws MillraceError when no source is left, or none has answered for `retryForMs`
 */
export async function openFirst(options: OpeningOptions): Promise<First> {
  const { sources, session, patience } = options;
  const { now, signal, networkChange } = session;
  try {
    for (;;) {
      const first = await askAll(options);
      if (first !== undefined) return first;
      const at = sources.nextUsableAt();
      const failure = sources.failure() ?? new MillraceError('origin-unreachable');
      if (at === undefined) throw failure;
      if (session.yieldsAfterMs !== undefined && sources.allServersAway) throw failure;
      if (!patience.waitsUntil(at, now())) throw failure;
      session.onWaiting?.(sources.allDown);
      if (!sources.allDown || networkChange === undefined) await session.wait(at - now(), signal);
      else if (await networkChange(at - now(), signal)) {
        for (const { health } of sources.sources) health.retryNow(now());
      }
      signal.throwIfAborted();
    }
  } finally {
    session.onWaiting?.(false);
  }
}

/** Asks every source that may be asked now. @returns undefined if no source answered */
async function askAll(options: OpeningOptions): Promise<First | undefined> {
  const { sources, session } = options;
  const { now, signal } = session;
  /** Requests without an answer yet, each with the controller that cancels it. */
  const running = new Map<Promise<First | undefined>, AbortController>();
  let fallback: First | undefined;
  const usable = sources.sources.filter((source) => isUsable(source, now()));
  // The origin's answer decides whether edges may be asked, so the origin is asked first and alone.
  const [origin] = usable.filter(({ kind }) => kind === 'origin');
  const hasEdges = usable.some(({ kind }) => kind === 'edge');
  if (origin !== undefined && hasEdges) {
    const first = await askOne(origin, options, signal);
    if (first !== undefined) await options.onOrigin({ status: 200, headers: first.opened.headers });
    else if (origin.health.lastFailure?.code === 'origin-denied') {
      await options.onOrigin({ status: 403, headers: {} });
    }
    if (first !== undefined && isPinnable(first.opened)) return first;
    fallback = first;
  }
  const queue = usable.filter((source) => isUsable(source, now()) && source !== fallback?.source);
  try {
    while (queue.length > 0 || running.size > 0) {
      const next = queue.shift();
      if (next !== undefined) {
        const abort = new AbortController();
        const both = AbortSignal.any([signal, abort.signal]);
        const ask: Promise<First | undefined> = askOne(next, options, both).finally(() =>
          running.delete(ask),
        );
        running.set(ask, abort);
      }
      const first = await firstOf(running.keys(), queue.length > 0 ? COMPANY_MS : undefined);
      if (first === undefined) continue;
      if (!isPinnable(first.opened) && fallback === undefined) {
        fallback = first;
        continue;
      }
      if (isPinnable(first.opened)) {
        fallback?.opened.discard();
        return first;
      }
      first.opened.discard();
    }
    signal.throwIfAborted();
    return fallback;
  } finally {
    for (const [late, abort] of running) {
      abort.abort();
      // The answer may have arrived before the abort; discard it.
      void late.then((first) => first?.opened.discard());
    }
  }
}

function isUsable({ health }: DownloadSource, now: Millis): boolean {
  const at = health.usableAt();
  return at !== undefined && at <= now;
}

async function askOne(
  source: DownloadSource,
  options: OpeningOptions,
  signal: AbortSignal,
): Promise<First | undefined> {
  const { sources, length, session } = options;
  try {
    const opened = await openOne(source, options, signal);
    const has = opened.kind === 'whole' ? opened.length : opened.version.length;
    if (length === undefined || has === undefined || has === length) return { source, opened };
    opened.discard();
    throw new MillraceError('different-file', {
      code: 'other-length',
      values: { hasBytes: has, wantedBytes: length },
    });
  } catch (thrown) {
    if (signal.aborted) return undefined;
    const error = asMillraceError(thrown);
    sources.onFailure(source, error, false);
    session.onSourceFailed?.(source, error);
    return undefined;
  }
}

/**
 * Asks for the whole file without naming an end where that costs nothing: the link may work only
 * once, and the server cannot mistake the end of the range for the end of the file. Where edges may
 * bring the file, or part of it is stored already, the first bytes are enough.
 */
async function openOne(
  source: DownloadSource,
  { sources, asksForWhole, isNew, onRefused }: OpeningOptions,
  signal: AbortSignal,
): Promise<Opened> {
  if (asksForWhole) return source.openWhole(signal);
  const hasEdges = sources.sources.some(({ kind }) => kind === 'edge');
  const few = { start: 0, end: FIRST_BYTES };
  let opened: Opened;
  if (!isNew || hasEdges) {
    opened = await withoutDoubt(source, await source.openRange(few, undefined, signal), signal);
    // Few files have exactly this length: the server may take the range for the file.
    const length = opened.kind === 'whole' ? opened.length : opened.version.length;
    if (length !== FIRST_BYTES) return opened;
    opened.discard();
  }
  try {
    opened = await source.openRange({ start: 0, end: Infinity }, undefined, signal);
  } catch (error) {
    const whole = await openInstead(source, asMillraceError(error), signal);
    onRefused(source, asMillraceError(error));
    return whole;
  }
  opened = await withoutDoubt(source, opened, signal);
  if (opened.kind === 'whole' || opened.isPlain || opened.range.end <= FIRST_BYTES) return opened;
  // A body that counts only once all of it has come, or comes in no order, cannot be read in parts.
  opened.discard();
  return source.openRange(few, undefined, signal);
}

/** Asks for a file without a range where a server that refuses ranges says that it is empty. */
async function withoutDoubt(
  source: DownloadSource,
  opened: Opened,
  signal: AbortSignal,
): Promise<Opened> {
  const isEmpty = opened.kind === 'whole' && opened.length === 0;
  // Such a server may say so of every file.
  const isUnsure = isEmpty && 'content-range' in opened.headers;
  return isUnsure ? source.openWhole(signal).catch(() => opened) : opened;
}

/**
 * Asks for the whole file after the request for a range was refused: perhaps because of the range.
 * A server that is busy, or closes the connection, is asked so every other time.
 *
 * @throws the given error if that brings no file either; the signal's reason
 */
async function openInstead(
  source: DownloadSource,
  error: MillraceError,
  signal: AbortSignal,
): Promise<Opened> {
  const before = source.health.lastFailure;
  const isSecond = before !== undefined && !source.wasAskedForWhole;
  source.wasAskedForWhole = false;
  signal.throwIfAborted();
  if (source.kind === 'edge' || !(REFUSALS.has(error.code) || (OFTEN.has(error.code) && isSecond)))
    throw error;
  source.wasAskedForWhole = true;
  const opened = await source.openWhole(signal, true).catch(() => {
    signal.throwIfAborted();
    throw error;
  });
  if (!isPage(opened)) return opened;
  // A web page in place of the file: a log-in, or the refusal itself.
  opened.discard();
  throw error;
}

/** Returns the result of the first request to end; undefined also when the time is over. */
async function firstOf(
  running: Iterable<Promise<First | undefined>>,
  timeMs: Millis | undefined,
): Promise<First | undefined> {
  if (timeMs === undefined) return Promise.race(running);
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeMs);
  });
  try {
    return await Promise.race([...running, time]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns true if ranges of this version can be told from those of other versions. */
export function isPinnable(opened: Opened): opened is Extract<Opened, { kind: 'range' }> {
  return opened.kind === 'range' && canPin(opened.version.validators);
}
