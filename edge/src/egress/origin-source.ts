/**
 * Egress (NSDI 3.2, figure 4): a chunk's name turns back into the file's URL and a range request,
 * and the answer is checked against the range contract before a byte of it is used.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { type ErrorCode, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { MIN_ORIGIN_TIMEOUT_MS } from '@millrace/shared/cdn/delivery/retry-timer';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { checkRangeAnswer } from '@millrace/shared/http/answers/range-contract';
import { ifSame } from '@millrace/shared/http/fields/conditions';
import { formatRange } from '@millrace/shared/http/fields/range-header';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import { isPointer, type PointerCache } from '../cache/pointer-cache.ts';
import { allocateFor, type ChunkBuffer, type ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest, ChunkSource } from '../files/chunk-request.ts';
import { type Pointer, pointerName } from '../files/file-version.ts';
import { answerError } from './answer-error.ts';
import type { BodyPace } from './body-pace.ts';
import { checkAsked, checkContent } from './content-check.ts';
import type { OriginClient } from './origin-client.ts';
import type { OriginRecords } from './origin-records.ts';

export interface OriginSourceOptions {
  readonly client: OriginClient;
  readonly records: OriginRecords;
  readonly pointers: PointerCache;
  readonly memory: ChunkMemory;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Called with the numbers of body bytes that come from an origin. */
  readonly onOriginBytes: (count: number) => void;
}

/** Most times that a request resumes after an origin has broken off, getting further each time. */
const MAX_RESUMES = 16;
/** Errors that show that the version is no longer current. */
export const OUTDATED: readonly ErrorCode[] = [
  'version-changed',
  'range-ignored',
  'precondition-failed',
  'wrong-encoding',
];
/** Statuses with which the target of an old redirect may have expired (signed links). */
const EXPIRED: ReadonlySet<number> = new Set([400, 401, 403, 404, 410]);

export class OriginSource implements ChunkSource {
  readonly #options: OriginSourceOptions;

  constructor(options: OriginSourceOptions) {
    this.#options = options;
  }

  lateAfterMs(request: ChunkRequest): Millis {
    const usual = this.#options.records.timer(this.#directUrl(request)).timeoutMs(0);
    return Math.max(MIN_ORIGIN_TIMEOUT_MS, usual);
  }

  async fetch(
    request: ChunkRequest,
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { version } = request;
    const direct = this.#directUrl(request);
    this.#options.records.pause(direct).check(this.#options.now());
    let sentAt: Millis | undefined;
    const timed: AttemptObserver = {
      onSent: () => {
        sentAt ??= this.#options.now();
        observer.onSent();
      },
      onBytes: (count) => observer.onBytes(count),
    };
    const buffer = this.#options.memory.allocate(request.range.end - request.range.start);
    try {
      await this.#fill(buffer.data, request, signal, timed);
      await checkAsked(request, buffer.data);
      if (attempt === 0 && sentAt !== undefined) {
        this.#options.records.timer(direct).onChunk(this.#options.now() - sentAt);
      }
      return buffer;
    } catch (error) {
      buffer.release();
      // The next request must find out at once which version is current.
      if (OUTDATED.some((code) => isMillraceError(error, code))) {
        this.#options.pointers.drop(pointerName(version), version.scope, version.tag);
      }
      throw error;
    }
  }

  /** Returns the pointer to the file, while it still points to this version. */
  #pointer({ version }: ChunkRequest): Pointer | undefined {
    const entry = this.#options.pointers.get(pointerName(version), version.scope);
    return entry !== undefined && isPointer(entry) && entry.version.tag === version.tag
      ? entry
      : undefined;
  }

  /** Returns the URL that redirects led to last time; the file's own by default. */
  #directUrl(request: ChunkRequest): URL {
    return new URL(this.#knownDirect(request) ?? request.version.url);
  }

  /** Returns the URL that redirects led to, as far as this node or the asking one knows. */
  #knownDirect(request: ChunkRequest): string | undefined {
    return this.#pointer(request)?.finalUrl ?? request.directUrl;
  }

  /** Asks at the URL that redirects led to; if that link has expired, at the file's own. */
  async #ask(request: ChunkRequest, signal: AbortSignal, onSent: () => void): Promise<HttpAnswer> {
    const { version } = request;
    const pointer = this.#pointer(request);
    const direct = this.#knownDirect(request) ?? version.url;
    const response = await this.#open(direct, request, signal, onSent, ifSame(version.validators));
    if (direct !== version.url && EXPIRED.has(response.status)) {
      response.discard();
      const again = await this.#open(
        version.url,
        request,
        signal,
        onSent,
        ifSame(version.validators),
      );
      const finalUrl = again.url.href;
      if (again.status === 206 && pointer !== undefined) {
        this.#options.pointers.put(pointerName(version), version.scope, { ...pointer, finalUrl });
      }
      return again;
    }
    if (response.status !== 412) return response;
    // Either the file has changed, or the origin misjudges its own validator: its answer without
    // the condition shows which.
    response.discard();
    return this.#open(direct, request, signal, onSent, {});
  }

  #open(
    url: string,
    { version, range, grant, client, trace }: ChunkRequest,
    signal: AbortSignal,
    onSent: () => void,
    conditions: Record<string, string>,
  ): Promise<HttpAnswer> {
    return this.#options.client.openRange({
      url: new URL(url),
      scope: version.scope,
      grant,
      client,
      trace,
      headers: { range: formatRange(range), ...conditions },
      signal,
      onSent,
    });
  }

  /**
   * Fills the chunk's memory. If the origin breaks off in the middle, only the rest is requested
   * again (ANYCAST 3.1.1), of the same version.
   */
  async #fill(
    into: Buffer,
    request: ChunkRequest,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<void> {
    const { range } = request;
    let filled = 0;
    const pace = this.#options.client.pace();
    for (let resumes = 0; ; resumes++) {
      const before = filled;
      const rest = { ...request, range: { start: range.start + filled, end: range.end } };
      try {
        const response = await this.#ask(rest, signal, observer.onSent);
        this.#check(response, rest);
        const body = into.subarray(filled);
        await pace.readInto(response, body, (count) => {
          filled += count;
          this.#options.onOriginBytes(count);
          observer.onBytes(count);
        });
        return checkContent(response, body);
      } catch (error) {
        const broke =
          isMillraceError(error, 'origin-reset') || isMillraceError(error, 'origin-timeout');
        const goesOn = broke && filled > before && !pace.tooSlow && resumes < MAX_RESUMES;
        if (!goesOn) throw error;
      }
    }
  }

  /** Checks an answer against the range contract. @throws MillraceError, with the body discarded */
  #check(response: HttpAnswer, { version, range }: ChunkRequest): void {
    try {
      if (response.status === 200) throw new MillraceError('range-ignored');
      if (response.status === 416) {
        throw new MillraceError('version-changed', 'the file has become shorter');
      }
      if (response.status !== 206) {
        throw answerError(response, this.#options.records.pause(response.url), this.#options.now());
      }
      checkRangeAnswer(response.headers, range, version);
    } catch (error) {
      response.discard();
      throw error;
    }
  }
}

/**
 * Reads a body of `bytes` bytes into memory on loan.
 *
 * @throws MillraceError `out-of-memory`, with the body discarded
 */
export async function readChunk(
  response: HttpAnswer,
  bytes: number,
  memory: ChunkMemory,
  pace: BodyPace,
  onBytes: (count: number) => void,
): Promise<ChunkBuffer> {
  const buffer = allocateFor(response, memory, bytes);
  try {
    await pace.readInto(response, buffer.data, onBytes);
    checkContent(response, buffer.data);
    return buffer;
  } catch (error) {
    buffer.release();
    throw error;
  }
}
