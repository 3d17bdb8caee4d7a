/**
 * Asks the origin which version of a file is current, by requesting the first chunk (NSDI): the
 * header tells the file's length, its version, how long these stay fresh, and whether the file can
 * be cut into chunks at all. The body is the first chunk, and is kept.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { chunkRange } from '@millrace/shared/cdn/chunks/chunk-plan';
import { freshnessByDigest } from '@millrace/shared/cdn/chunks/pointer-life';
import { versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import type { StartAttempt } from '@millrace/shared/cdn/fetch/competing-fetch';
import {
  type Freshness,
  type FreshTimes,
  readFreshness,
  withTimes,
} from '@millrace/shared/http/answers/freshness';
import { passedFields } from '@millrace/shared/http/answers/passed-fields';
import {
  checkRangeAnswer,
  contentCoding,
  isWholePart,
} from '@millrace/shared/http/answers/range-contract';
import type { CacheOutcome } from '@millrace/shared/http/fields/cache-status';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import { formatRange } from '@millrace/shared/http/fields/range-header';
import { canPin, matchVersion, readValidators } from '@millrace/shared/http/fields/validators';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import { begunBytes } from '../egress/answer-error.ts';
import { checkAsked, checkDeclared } from '../egress/content-check.ts';
import type { OriginClient } from '../egress/origin-client.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import { readChunk } from '../egress/origin-source.ts';
import type { ChunkBuffer, ChunkMemory } from '../files/chunk-memory.ts';
import { detached, type FileVersion, type Pointer, type Scope } from '../files/file-version.ts';
import type { OnInterim } from '../files/path.ts';
import { unlessChanged } from '../streams/ask-again.ts';
import type { RunningStream } from '../streams/running-stream.ts';
import type { Streams } from '../streams/streams.ts';
import type { ChunkStore } from './chunk-store.ts';
import { missOf, noFileError } from './read-answer.ts';
import { ENCODED, isEncodedPart } from './tunnel.ts';

export interface OriginVersionOptions {
  readonly client: OriginClient;
  readonly records: OriginRecords;
  readonly chunks: ChunkStore;
  readonly memory: ChunkMemory;
  readonly streams: Streams;
  readonly chunkBytes: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly onOriginBytes: (count: number) => void;
  /** Returns true if clients get the origin's own answers where it has no file. */
  readonly passesAnswers: (url: URL) => boolean;
  /** Returns the times of the rule for an origin. */
  readonly times: (url: URL) => FreshTimes;
}

/** A question about a file, and the client that asks. */
export interface VersionQuestion {
  readonly url: URL;
  readonly scope: Scope;
  /** Grant of the signed link that the client has used. */
  readonly grant: LinkGrant | undefined;
  /** The client for which the origin is asked. */
  readonly client?: string | undefined;
  /** `traceparent` for requests that follow. */
  readonly trace?: string | undefined;
  /** Takes interim answers, for the client. */
  readonly onInterim?: OnInterim | undefined;
  /** Pointer known so far. */
  readonly known: Pointer | undefined;
  /** SHA-256 that the content must have, hexadecimal, if the client has asked for one. */
  readonly digest: string | undefined;
  /** Generation in which it is asked: purges from then on void the answer. */
  readonly generation: number;
}

/** The file's present state. */
export type Resolution =
  | { readonly kind: 'file'; readonly pointer: Pointer; readonly outcome: CacheOutcome }
  /** A file that its origin sends whole, and of which the end has not come. */
  | {
      readonly kind: 'stream';
      readonly stream: RunningStream;
      /** Its length is that of the stream, or -1 while nobody knows it. */
      readonly pointer: Pointer;
      readonly outcome: CacheOutcome;
    }
  | {
      readonly kind: 'tunnel';
      /** One word: why the file cannot be cut into chunks. */
      readonly reason: string;
      /** The response with the whole file, for the first caller that takes it. */
      readonly take: () => HttpResponse | undefined;
    };

export class OriginVersion {
  readonly #options: OriginVersionOptions;

  constructor(options: OriginVersionOptions) {
    this.#options = options;
  }

  /** @throws MillraceError; the signal's reason */
  async ask(question: VersionQuestion, signal: AbortSignal): Promise<Resolution> {
    const { chunkBytes, records, now, onOriginBytes } = this.#options;
    const { url, known } = question;
    records.pause(url).check(now());
    let response = await this.#open(question, signal, {
      range: formatRange({ start: 0, end: chunkBytes }),
      ...(known === undefined ? {} : unlessChanged(known.version)),
    });
    // Ranges of an encoded file may be of the coded bytes, or coded themselves. Ranges of a file that
    // nothing pins may be of two versions. Only the whole, in one answer, is safe.
    if (
      (isEncodedPart(response) && !isWholePart(response.headers)) ||
      this.#isUnpinnedPart(response, question)
    ) {
      response.discard();
      onOriginBytes(begunBytes(response, chunkBytes));
      response = await this.#open(question, signal, {});
    }
    try {
      return await this.#understand(response, question, signal);
    } catch (error) {
      response.discard();
      throw error;
    }
  }

  /** Returns true for a part of a file that may be kept for a time, but that nothing pins. */
  #isUnpinnedPart(response: HttpResponse, { url, digest }: VersionQuestion): boolean {
    const { status, headers } = response;
    if (status !== 206 || digest !== undefined || isWholePart(headers)) return false;
    const range = parseContentRange(listField(headers, 'content-range'));
    if (range?.total === undefined || canPin(readValidators(headers))) return false;
    return this.#options.streams.rules.keepsForTime(response, url, range.total);
  }

  #open(
    { url, scope, grant, client, trace, onInterim }: VersionQuestion,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<HttpResponse> {
    const takesTargetless = this.#options.passesAnswers(url);
    const asked = { url, scope, grant, client, trace, headers, takesTargetless, onInterim, signal };
    return this.#options.client.open(asked);
  }

  async #understand(
    response: HttpResponse,
    question: VersionQuestion,
    signal: AbortSignal,
  ): Promise<Resolution> {
    const { status, headers } = response;
    const { url, scope, known, digest } = question;
    const declared = digest !== undefined && checkDeclared(response, digest);
    if (status === 304 && known !== undefined) {
      // Fields of a 304 replace the stored ones (RFC 9111 3.2).
      const merged = { ...known.version.fields, ...headers };
      return confirmed(response, known, merged, this.#freshness(url, merged, response));
    }
    if (status === 200) return this.#whole(response, question);
    if (isEncodedPart(response)) {
      return isWholePart(headers)
        ? this.#whole(response, question)
        : this.#tunnel(ENCODED, response);
    }
    if (status === 416 && parseContentRange(listField(headers, 'content-range'))?.total === 0) {
      return this.#tunnel('empty', response);
    }
    if (status !== 206) {
      throw await noFileError(this.#options, response, question, signal);
    }
    const asked = { start: 0, end: this.#options.chunkBytes };
    const { range, total, validators } = checkRangeAnswer(headers, asked);
    if (total === undefined) return this.#tunnel('unknown-length', response);
    const freshness = this.#freshness(url, headers, response);
    const tag = versionTag(validators, total, digest);
    const wholeBody = range.end - range.start === total;
    if (tag === undefined || !canPin(validators)) {
      // Nothing pins its chunks, but here they are all in one answer.
      return wholeBody && isWholePart(headers)
        ? this.#whole(response, question)
        : this.#tunnel('no-validator', response, wholeBody);
    }
    if (freshness.notStorable !== undefined) {
      return this.#tunnel(freshness.notStorable, response, wholeBody);
    }
    const version = detached({
      url: url.href,
      scope,
      length: total,
      validators,
      digest,
      tag,
      fields: passedFields(headers, response.url.href, wholeBody),
    });
    const proven = await this.#adoptFirstChunk(response, version, question.generation, signal);
    const verified = proven || declared ? true : undefined;
    return {
      kind: 'file',
      pointer: asPointer({ version, freshness, finalUrl: response.url.href, verified }),
      outcome: { hit: false, fwd: missOf(known), fwdStatus: status, stored: true },
    };
  }

  #freshness(url: URL, headers: Headers, { requestedAt, arrivedAt }: HttpResponse): Freshness {
    const stated = readFreshness(headers, requestedAt, arrivedAt);
    return withTimes(stated, headers, this.#options.times(url));
  }

  /**
   * Keeps the chunks of a whole answer while it passes, if they may be kept. An encoded one is kept
   * with its coding: egress asks for none, so every client would get the same.
   *
   * @param response 200, or 206 with a part that is the whole
   */
  #whole(response: HttpResponse, question: VersionQuestion): Resolution {
    const { streams } = this.#options;
    const { status: fwdStatus, headers } = response;
    const coding = contentCoding(headers);
    // Content that was requested by its digest is not known before its end.
    const reason =
      question.digest !== undefined ? 'no-ranges' : streams.rules.refuses(response, question.url);
    if (reason !== undefined) {
      const hasRanges = fwdStatus === 206 && reason === 'no-ranges';
      const told = coding !== undefined ? ENCODED : hasRanges ? 'no-validator' : reason;
      return this.#tunnel(told, response, true);
    }
    const fields = passedFields(headers, response.url.href, true);
    if (coding !== undefined) fields['content-encoding'] = coding;
    const begun = streams.begin(response, question, fields);
    const fwd = missOf(question.known);
    const outcome = { hit: false, fwd, fwdStatus, stored: true } as const;
    return { kind: 'stream', ...begun, outcome };
  }

  /** Resolves to a file that cannot be cut into chunks; a response with all of it can be taken. */
  #tunnel(reason: string, response: HttpResponse, whole = response.status === 200): Resolution {
    let left: HttpResponse | undefined = response;
    const take = () => {
      const taken = left;
      left = undefined;
      return taken;
    };
    const discard = () => {
      const untaken = take();
      untaken?.discard();
      if (untaken !== undefined) {
        this.#options.onOriginBytes(begunBytes(untaken, this.#options.chunkBytes));
      }
    };
    if (!whole) discard();
    // All who wait for this resolution get it in the microtasks that follow.
    else setImmediate(discard);
    return { kind: 'tunnel', reason, take };
  }

  /**
   * Keeps the body of the answer, which is the first chunk and need not be requested again.
   *
   * @returns true, once all of it has come, if it is the whole of a file that was requested by its
   *   digest, and has that digest; false, at once, for all other files
   * @throws MillraceError `precondition-failed` if such a file has another digest
   */
  async #adoptFirstChunk(
    response: HttpResponse,
    version: FileVersion,
    generation: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const range = chunkRange(0, this.#options.chunkBytes, version.length);
    const { client, memory, onOriginBytes } = this.#options;
    const request = { version, range };
    const body: StartAttempt<ChunkBuffer> = async (_attempt, end, observer) => {
      observer.onSent();
      const abort = () => response.discard();
      end.addEventListener('abort', abort, { once: true });
      try {
        const bytes = range.end - range.start;
        const chunk = await readChunk(response, bytes, memory, client.pace(), (count) => {
          onOriginBytes(count);
          observer.onBytes(count);
        });
        await checkAsked(request, chunk.data).catch((error: unknown) => {
          chunk.release();
          throw error;
        });
        return chunk;
      } finally {
        end.removeEventListener('abort', abort);
      }
    };
    if (!this.#options.chunks.adopt(request, body, generation)) response.discard();
    if (version.digest === undefined || range.end < version.length) return false;
    // However the chunk got here, its digest has been compared.
    (await this.#options.chunks.get(request, signal)).chunk.release();
    return true;
  }
}

/** Resolves to the known version, which the origin has confirmed. */
function confirmed(
  response: HttpResponse,
  known: Pointer,
  headers: Headers,
  stated: Freshness,
): Resolution {
  response.discard();
  const fresh = passedFields(response.headers, response.url.href, false);
  const version = detached({ ...known.version, fields: { ...known.version.fields, ...fresh } });
  if (matchVersion(known.version.validators, readValidators(headers)) === 'different') {
    throw new MillraceError('version-changed', '304 with another validator');
  }
  const { verified, chunks } = known;
  return {
    kind: 'file',
    pointer: asPointer({
      version,
      // A file that must not be stored any more serves those who have asked.
      freshness: stated.notStorable === undefined ? stated : unusable(stated),
      finalUrl: response.url.href,
      verified,
      chunks,
    }),
    outcome: { hit: false, fwd: 'stale', fwdStatus: 304 },
  };
}

/** Freshness of a file that the origin is to be asked for each time. */
function unusable({ initialAgeMs, arrivedAt }: Freshness): Freshness {
  return { notStorable: undefined, initialAgeMs, arrivedAt, lifetimeMs: 0, staleIfErrorMs: 0 };
}

function asPointer(found: Pointer): Pointer {
  const { freshness, verified = false, version } = found;
  // Without a redirect, the URL is kept once.
  const finalUrl = found.finalUrl === version.url ? version.url : found.finalUrl;
  const pointer = { ...found, finalUrl };
  if (version.digest === undefined) return pointer;
  return { ...pointer, freshness: freshnessByDigest(freshness, verified) };
}
