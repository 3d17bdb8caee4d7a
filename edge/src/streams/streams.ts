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
import { judgeWholeAsSent } from '@millrace/shared/http/answers/range-contract';
import { canPin } from '@millrace/shared/http/fields/validators';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import { isPointer } from '../cache/pointer-cache.ts';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkBuffer } from '../files/chunk-memory.ts';
import type { ChunkRequest, ChunkSource } from '../files/chunk-request.ts';
import {
  detached,
  type Pointer,
  pointerName,
  type Scope,
  scopedKey,
} from '../files/file-version.ts';
import { askAgain } from './ask-again.ts';
import { LaterPasses } from './later-passes.ts';
import { RunningStream } from './running-stream.ts';
import { StreamRules } from './stream-rules.ts';
import type {
  StreamBody,
  StreamedVersion,
  StreamQuestion,
  StreamsOptions,
} from './stream-types.ts';

/** State of a version: a whole file, or a stream whose end has not come. */
export type Settled =
  | { readonly kind: 'file'; readonly pointer: Pointer }
  | { readonly kind: 'stream'; readonly stream: RunningStream; readonly pointer: Pointer };

/** A stream that comes from another node. */
export interface Followed {
  /** The version, as the other node tells it. */
  readonly pointer: Pointer;
  readonly body: StreamBody;
  readonly generation: number;
  readonly grant: LinkGrant | undefined;
  readonly client?: string | undefined;
  /**
   * Finds a node that goes on with it.
   *
   * @returns undefined if this node is to ask the origin
   */
  readonly next: (signal: AbortSignal, stream: RunningStream) => Promise<StreamBody | undefined>;
}

interface First {
  readonly stream: RunningStream;
  pointer: Omit<Pointer, 'version'>;
}

const NOT_PINNED = 'the node that knows it is gone';
/** Weight of a stream besides its chunk. */
const STREAM_WEIGHT = 24 * OBJECT_BYTES;

export class Streams implements ChunkSource {
  readonly #options: StreamsOptions;
  /** First passes, by scope and URL. */
  readonly #first = new Map<string, First>();
  /** All first passes under way, by tag. */
  readonly #byTag = new Map<string, RunningStream>();
  readonly #later: LaterPasses;
  /** Rules for which answers are kept. */
  readonly rules: StreamRules;
  /** Called with bytes that a later pass brings for a client before those that it has asked for. */
  onSkipped: (client: string, bytes: number) => void = () => {};
  /** Stores a chunk in memory and on disk. */
  keep: (chunk: Chunk) => void = () => {};
  /** Returns a chunk that is in memory; the caller is a user of it. */
  peek: (request: ChunkRequest) => Chunk | undefined = () => undefined;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.rules = new StreamRules(options);
    this.#later = new LaterPasses({
      ...options,
      keep: (chunk) => this.keep(chunk),
      generation: () => options.purges.current,
      onSkipped: (client, bytes) => this.onSkipped(client, bytes),
      onEnd: (complete) => options.onPass('later', complete ? 'complete' : 'failed'),
      again: (request, signal) => askAgain(options, request, signal),
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
    return this.#isVoid(stream) || !stream.keeps || stream.isBroken
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
   * Begins a stream, which takes the answer's body.
   *
   * @param response that `rules` do not refuse
   * @param fields that clients get
   */
  begin(
    response: HttpResponse,
    question: StreamQuestion,
    fields: Readonly<Record<string, string>>,
  ): { stream: RunningStream; pointer: Pointer } {
    const { url, scope, generation } = question;
    const { length, validators } = judgeWholeAsSent(response.headers);
    const tag = streamTag(randomBytes(16).toString('hex'));
    // The length is not a part of the copy: it may be unknown.
    const version = detached({ url: url.href, scope, length: 0, validators, tag, fields });
    const { client, grant } = question;
    const ask = { version, grant, client };
    const freshness = this.rules.freshness(response, url);
    const finalUrl = response.url.href === url.href ? version.url : response.url.href;
    const again = (signal: AbortSignal) => askAgain(this.#options, ask, signal);
    const streamed = { ...version, length };
    return this.#start(streamed, { freshness, finalUrl }, generation, response, again);
  }

  /**
   * Begins a stream that comes from another node. If that one fails, this node goes on with the
   * version only if a validator pins it: others may go on with it as well.
   */
  follow(followed: Followed): { stream: RunningStream; pointer: Pointer } {
    const { pointer, body, generation, grant, client, next } = followed;
    const known = this.#byTag.get(pointer.version.tag);
    if (known !== undefined) {
      body.discard();
      return { stream: known, pointer: asPointer(known, pointer) };
    }
    const version = detached(pointer.version);
    const length = version.length < 0 ? undefined : version.length;
    const again = async (signal: AbortSignal, stream: RunningStream): Promise<StreamBody> => {
      const found = await next(signal, stream);
      if (found !== undefined) return found;
      if (!canPin(version.validators)) throw new MillraceError('version-changed', NOT_PINNED);
      return askAgain(this.#options, { version, grant, client }, signal, true);
    };
    return this.#start({ ...version, length }, pointer, generation, body, again);
  }

  #start(
    version: StreamedVersion,
    { freshness, finalUrl }: Omit<Pointer, 'version'>,
    generation: number,
    body: StreamBody,
    again: (signal: AbortSignal, stream: RunningStream) => Promise<StreamBody>,
  ): { stream: RunningStream; pointer: Pointer } {
    const stream: RunningStream = new RunningStream({
      ...this.#options,
      version,
      digests: new StreamDigests(),
      generation,
      keep: (chunk) => this.keep(chunk),
      again: (signal) => again(signal, stream),
      onEnd: (error) => this.#ended(stream, error),
    });
    const pointer = { freshness, finalUrl };
    this.#first.set(scopedKey(version.scope, version.url), { stream, pointer });
    this.#byTag.set(version.tag, stream);
    stream.run(body);
    return { stream, pointer: asPointer(stream, pointer) };
  }

  /** Returns the first pass that brings a version, if it is under way. */
  passing(tag: string): RunningStream | undefined {
    const stream = this.#byTag.get(tag);
    return stream === undefined || this.#isVoid(stream) ? undefined : stream;
  }

  isLocal(request: ChunkRequest): boolean {
    return this.#options.source.isLocal?.(request) === true;
  }

  isOwn(request: ChunkRequest): boolean {
    const { tag } = request.version;
    if (!isStreamTag(tag)) return false;
    if (this.#byTag.has(tag)) return true;
    const known = this.#known(request);
    return known?.chunks !== undefined && known.followed !== true;
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
    const digests = this.#known(request)?.chunks;
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

  #known({ version }: ChunkRequest): Pointer | undefined {
    const entry = this.#options.pointers.get(pointerName(version), version.scope);
    if (entry === undefined || !isPointer(entry)) return undefined;
    return entry.version.tag === version.tag ? entry : undefined;
  }

  #ended(stream: RunningStream, error: MillraceError | undefined): void {
    const { pointers, onPass } = this.#options;
    const { version, digests, generation, keeps } = stream;
    const key = scopedKey(version.scope, version.url);
    const found = this.#first.get(key);
    this.#byTag.delete(version.tag);
    const isFollowed = stream.sources.length > 0;
    onPass(isFollowed ? 'followed' : 'first', error === undefined ? 'complete' : 'failed');
    // A later stream has taken its place: what that one brings is newer.
    if (found?.stream !== stream) return;
    this.#first.delete(key);
    if (error !== undefined || !keeps) return;
    const followed: true | undefined = isFollowed ? true : undefined;
    const pointer = { ...asPointer(stream, found.pointer), chunks: digests.text, followed };
    pointers.put(version.url, version.scope, pointer, generation);
  }
}

function asPointer(stream: RunningStream, pointer: Omit<Pointer, 'version'>): Pointer {
  return { ...pointer, version: { ...stream.version, length: stream.length ?? -1 } };
}
