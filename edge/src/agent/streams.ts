/**
 * The streams of files whose origins have no ranges: at most one first pass for each file, which all
 * clients follow, and one later pass for each version that has lost a chunk.
 */

import { randomBytes } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { OBJECT_BYTES } from '@millrace/shared/cdn/admission/memory-weight';
import { StreamDigests } from '@millrace/shared/cdn/chunks/stream-plan';
import { isStreamTag, streamTag } from '@millrace/shared/cdn/chunks/version-tag';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import {
  type Freshness,
  type FreshTimes,
  readFreshness,
  withTimes,
} from '@millrace/shared/http/answers/freshness';
import { checkIdentity, judgeWhole } from '@millrace/shared/http/answers/range-contract';
import { whyNotStreamed } from '@millrace/shared/http/answers/whole-answer';
import { ifSame } from '@millrace/shared/http/fields/conditions';
import { matchVersion, readValidators } from '@millrace/shared/http/fields/validators';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import { isPointer, type PointerCache } from '../cache/pointer-cache.ts';
import type { Purges } from '../cache/purges.ts';
import { answerError } from '../egress/answer-error.ts';
import type { OriginClient } from '../egress/origin-client.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkBuffer, ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest, ChunkSource } from '../files/chunk-request.ts';
import {
  detached,
  type Pointer,
  pointerName,
  type Scope,
  scopedKey,
} from '../files/file-version.ts';
import { LaterPasses } from './later-passes.ts';
import { RunningStream } from './running-stream.ts';

export interface StreamsOptions {
  readonly client: OriginClient;
  readonly records: OriginRecords;
  readonly pointers: PointerCache;
  readonly purges: Purges;
  readonly memory: ChunkMemory;
  readonly chunkBytes: number;
  /** Bytes that a stream may run ahead of its clients. */
  readonly aheadBytes: number;
  /** Length of the largest file that is kept. */
  readonly maxBytes: number;
  readonly source: ChunkSource;
  /** Returns the times of the rule for an origin. */
  readonly times: (url: URL) => FreshTimes;
  readonly onOriginBytes: (count: number) => void;
  /** Called when a pass has ended. */
  readonly onPass: (pass: 'first' | 'later', end: 'complete' | 'failed') => void;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

/** The file that a whole answer brings, and for whom it was asked for. */
export interface StreamQuestion {
  readonly url: URL;
  readonly scope: Scope;
  readonly grant: LinkGrant | undefined;
  readonly client?: string | undefined;
  readonly generation: number;
}

/** State of a version: a whole file, or a stream whose end has not come. */
export type Settled =
  | { readonly kind: 'file'; readonly pointer: Pointer }
  | { readonly kind: 'stream'; readonly stream: RunningStream; readonly pointer: Pointer };

interface First {
  readonly stream: RunningStream;
  pointer: Omit<Pointer, 'version'>;
}

/** Fewest chunks that the cache must hold: what passes must stay until its clients have it. */
const LEAST_CHUNKS = 8;
/** Weight of a stream besides its chunk. */
const STREAM_WEIGHT = 24 * OBJECT_BYTES;

export class Streams implements ChunkSource {
  readonly #options: StreamsOptions;
  /** First passes, by scope and URL. */
  readonly #first = new Map<string, First>();
  /** All first passes under way, by tag. */
  readonly #byTag = new Map<string, RunningStream>();
  readonly #later: LaterPasses;
  /** Stores a chunk in memory and on disk. */
  keep: (chunk: Chunk) => void = () => {};
  /** Returns a chunk that is in memory; the caller is a user of it. */
  peek: (request: ChunkRequest) => Chunk | undefined = () => undefined;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#later = new LaterPasses({
      ...options,
      keep: (chunk) => this.keep(chunk),
      generation: () => options.purges.current,
      onEnd: (complete) => options.onPass('later', complete ? 'complete' : 'failed'),
      again: (request, signal) => this.#again(request, signal),
    });
  }

  /** Streams under way. */
  get running(): number {
    return this.#byTag.size + this.#later.running;
  }

  /** Their weight in memory besides chunks, bytes. */
  get bytes(): number {
    return this.running * STREAM_WEIGHT;
  }

  /** Returns the stream of a file that clients may join. */
  find(url: string, scope: Scope): { stream: RunningStream; pointer: Pointer } | undefined {
    if (this.#first.size === 0) return undefined;
    const found = this.#first.get(scopedKey(scope, url));
    if (found === undefined) return undefined;
    const { stream, pointer } = found;
    return this.#isVoid(stream) || !stream.keeps
      ? undefined
      : { stream, pointer: asPointer(stream, pointer) };
  }

  #isVoid({ version, generation }: RunningStream): boolean {
    const { purges } = this.#options;
    return (
      purges.isVoid(version.url, version.tag, generation) ||
      purges.isVoidByLabel(version.fields, generation)
    );
  }

  /**
   * Returns why a whole answer is not kept; undefined if it is.
   *
   * @param url that was asked for
   * @throws MillraceError of `judgeWhole`
   */
  refuses(response: HttpResponse, url: URL): string | undefined {
    const { length } = judgeWhole(response.headers);
    const { maxBytes, chunkBytes } = this.#options;
    if (maxBytes < LEAST_CHUNKS * chunkBytes) return 'no-ranges';
    return whyNotStreamed(response.headers, length, maxBytes, this.#freshness(response, url));
  }

  #freshness({ headers, requestedAt, arrivedAt }: HttpResponse, url: URL): Freshness {
    const stated = readFreshness(headers, requestedAt, arrivedAt);
    return withTimes(stated, headers, this.#options.times(url));
  }

  /**
   * Begins a stream, which takes the answer's body.
   *
   * @param response that `refuses` does not refuse
   * @param fields that clients get
   */
  begin(
    response: HttpResponse,
    question: StreamQuestion,
    fields: Readonly<Record<string, string>>,
  ): { stream: RunningStream; pointer: Pointer } {
    const { url, scope, generation } = question;
    const { length, validators } = judgeWhole(response.headers);
    const tag = streamTag(randomBytes(16).toString('hex'));
    // The length is not a part of the copy: it may be unknown.
    const version = detached({ url: url.href, scope, length: 0, validators, tag, fields });
    const { client, grant } = question;
    const ask = { version, grant, client };
    const stream = new RunningStream({
      ...this.#options,
      version: { ...version, length },
      digests: new StreamDigests(),
      generation,
      keep: (chunk) => this.keep(chunk),
      again: (signal) => this.#again(ask, signal),
      onEnd: (ended, error) => this.#ended(ended, error),
    });
    const freshness = this.#freshness(response, url);
    const finalUrl = response.url.href === url.href ? version.url : response.url.href;
    const pointer = { freshness, finalUrl };
    this.#first.set(scopedKey(scope, url.href), { stream, pointer });
    this.#byTag.set(tag, stream);
    stream.run(response);
    return { stream, pointer: asPointer(stream, pointer) };
  }

  isLocal(request: ChunkRequest): boolean {
    return this.#options.source.isLocal?.(request) === true;
  }

  isOwn(request: ChunkRequest): boolean {
    const { tag } = request.version;
    if (!isStreamTag(tag)) return false;
    return this.#byTag.has(tag) || this.#digests(request) !== undefined;
  }

  lateAfterMs(request: ChunkRequest): Millis {
    if (isStreamTag(request.version.tag)) return Number.POSITIVE_INFINITY;
    return this.#options.source.lateAfterMs(request);
  }

  async fetch(
    request: ChunkRequest,
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { version } = request;
    if (!isStreamTag(version.tag)) {
      return this.#options.source.fetch(request, attempt, signal, observer);
    }
    observer.onSent();
    const first = this.#byTag.get(version.tag);
    const passing =
      first === undefined ? undefined : await this.#passing(first, request, signal, observer);
    if (passing !== undefined) return passing;
    const digests = this.#digests(request);
    try {
      if (digests === undefined) throw new MillraceError('version-changed', 'it was one answer');
      return await this.#later.fetch(request, digests, signal, observer);
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'version-changed') {
        this.#options.pointers.drop(pointerName(version), version.scope, version.tag);
      }
      throw error;
    }
  }

  /**
   * Brings a resolution up to date: what is known of a version whose end had not come when the
   * origin was asked.
   *
   * @throws MillraceError `version-changed` if the stream has failed meanwhile
   */
  settled(pointer: Pointer): Settled {
    const { version, freshness } = pointer;
    if (!isStreamTag(version.tag)) return { kind: 'file', pointer };
    const found = this.#first.get(scopedKey(version.scope, version.url));
    if (found?.stream.version.tag === version.tag) {
      found.pointer = { ...found.pointer, freshness };
      return { kind: 'stream', stream: found.stream, pointer: asPointer(found.stream, pointer) };
    }
    const entry = this.#options.pointers.get(pointerName(version), version.scope);
    if (entry !== undefined && isPointer(entry) && entry.version.tag === version.tag) {
      const { length } = entry.version;
      return {
        kind: 'file',
        pointer: { ...pointer, version: { ...version, length }, chunks: entry.chunks },
      };
    }
    if (version.length < 0) throw new MillraceError('version-changed', 'its stream has failed');
    return { kind: 'file', pointer };
  }

  /**
   * Waits for a chunk of the first pass.
   *
   * @returns undefined if the pass has ended and the chunk has left the memory: only the end of the
   *   first pass shows what a later one has to bring
   */
  async #passing(
    first: RunningStream,
    request: ChunkRequest,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer | undefined> {
    const { range } = request;
    const follower = first.follow(true);
    try {
      follower.at(range.start);
      for (;;) {
        const chunk = first.received >= range.end ? this.peek(request) : undefined;
        if (chunk !== undefined) return this.#copied(chunk);
        if (first.error !== undefined) throw first.error;
        if (first.ended) return undefined;
        // A purge has made the chunk void: the end of the pass would not bring it back.
        if (first.received >= range.end && this.#isVoid(first)) {
          throw new MillraceError('version-changed', 'it was purged');
        }
        await first.changed(signal);
        observer.onBytes(0);
      }
    } finally {
      follower.leave();
    }
  }

  #copied(chunk: Chunk): ChunkBuffer {
    try {
      const own = this.#options.memory.allocate(chunk.data.length);
      chunk.data.copy(own.data);
      return own;
    } finally {
      chunk.release();
    }
  }

  #digests({ version }: ChunkRequest): string | undefined {
    const entry = this.#options.pointers.get(pointerName(version), version.scope);
    if (entry === undefined || !isPointer(entry)) return undefined;
    return entry.version.tag === version.tag ? entry.chunks : undefined;
  }

  #ended(stream: RunningStream, error: MillraceError | undefined): void {
    const { pointers, onPass } = this.#options;
    const { version, digests, generation, keeps } = stream;
    const key = scopedKey(version.scope, version.url);
    const found = this.#first.get(key);
    this.#byTag.delete(version.tag);
    onPass('first', error === undefined ? 'complete' : 'failed');
    // A later stream has taken its place: what that one brings is newer.
    if (found?.stream !== stream) return;
    this.#first.delete(key);
    if (error !== undefined || !keeps) return;
    const pointer = { ...asPointer(stream, found.pointer), chunks: digests.text };
    pointers.put(version.url, version.scope, pointer, generation);
  }

  /** Asks for the whole file again. @throws MillraceError; `version-changed` if it is another one */
  async #again(
    { version, grant, client }: Pick<ChunkRequest, 'version' | 'grant' | 'client'>,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const { records, now } = this.#options;
    const url = new URL(version.url);
    records.pause(url).check(now());
    const response = await this.#options.client.open({
      url,
      scope: version.scope,
      grant,
      client,
      headers: ifSame(version.validators),
      signal,
    });
    try {
      if (response.status === 412) throw new MillraceError('version-changed');
      if (response.status !== 200) throw answerError(response, records.pause(response.url), now());
      checkIdentity(response.headers);
      judgeWhole(response.headers);
      const match = matchVersion(version.validators, readValidators(response.headers));
      if (match === 'different') throw new MillraceError('version-changed', 'another ETag or date');
      return response;
    } catch (error) {
      response.discard();
      throw error;
    }
  }
}

function asPointer(stream: RunningStream, pointer: Omit<Pointer, 'version'>): Pointer {
  return { ...pointer, version: { ...stream.version, length: stream.length ?? -1 } };
}
