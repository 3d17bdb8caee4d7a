/**
 * From a URL to the current version of the file: the pointer of NSDI's first chunk request. The
 * origin is asked for the first chunk; its header says how long the file is, which version it is,
 * how long that may be taken for granted, and whether the file can be cut into chunks at all. In a
 * network it is the owner of the first chunk that asks the origin; the others ask the owner.
 *
 * Content that is asked for by its digest (WORLDS 4.2) has a pointer of its own, so that the origin
 * is asked afresh for content that is not known yet, and is not asked again for what is.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { MAX_PASSED_FIELD_CHARS } from '@millrace/shared/base/limits';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { chunkRange } from '@millrace/shared/cdn/chunk-plan';
import type { StartAttempt } from '@millrace/shared/cdn/competing-fetch';
import { versionTag } from '@millrace/shared/cdn/version-tag';
import type { CacheOutcome } from '@millrace/shared/http/cache-status';
import { parseContentRange } from '@millrace/shared/http/content-range';
import {
  currentAge,
  isFresh,
  isUsableOnError,
  type RequestDemands,
  readFreshness,
} from '@millrace/shared/http/freshness';
import { type Headers, listField } from '@millrace/shared/http/headers';
import { formatHttpDate } from '@millrace/shared/http/http-date';
import { checkIdentity, checkRangeAnswer } from '@millrace/shared/http/range-contract';
import { formatRange } from '@millrace/shared/http/range-header';
import { canPin, matchVersion, readValidators } from '@millrace/shared/http/validators';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import type { Purges } from '../admin/purges.ts';
import type { ChunkBuffer, ChunkMemory } from '../cache/chunk-memory.ts';
import type { ChunkStore } from '../cache/chunk-store.ts';
import { type FileVersion, type Pointer, pointerName } from '../cache/file-version.ts';
import {
  isPointer,
  type PointerCache,
  type PointerEntry,
  TUNNEL_VERDICT_MS,
} from '../cache/pointer-cache.ts';
import { checkAsked, checkDeclared } from '../egress/content-check.ts';
import type { OriginClient } from '../egress/origin-client.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import { readChunk } from '../egress/origin-source.ts';
import { statusError } from '../egress/status-error.ts';
import type { Network } from '../peers/network.ts';
import { INGRESS, type Path } from '../peers/path.ts';
import type { RemoteVersion } from '../peers/version-message.ts';
import type { Scope } from '../policy/policy.ts';

export interface ResolverOptions {
  readonly client: OriginClient;
  readonly records: OriginRecords;
  readonly pointers: PointerCache;
  readonly purges: Purges;
  readonly chunks: ChunkStore;
  readonly memory: ChunkMemory;
  /** Other nodes, where there are any. */
  readonly network: Network | undefined;
  readonly chunkBytes: number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly onOriginBytes: (count: number) => void;
}

export type Resolution =
  | { readonly kind: 'file'; readonly pointer: Pointer; readonly outcome: CacheOutcome }
  | {
      readonly kind: 'tunnel';
      /** One word: why the file cannot be cut into chunks. */
      readonly reason: string;
      /** The whole file on its way already, for the first who takes it. */
      readonly take: () => HttpResponse | undefined;
    };

/** Fields of the origin's answer that clients get to see. */
const PASSED_FIELDS = [
  'content-type',
  'content-disposition',
  'etag',
  'last-modified',
  'repr-digest',
  'link',
  'cache-control',
  'expires',
] as const;

/** Failures in which a stale pointer is better than none (RFC 5861 4). */
const STALE_IF = [
  'origin-unreachable',
  'origin-timeout',
  'origin-reset',
  'origin-error',
  'origin-busy',
] as const;

/** Failures after which what was known of the file no longer holds. */
const WITHDRAWN = [
  'origin-not-found',
  'origin-gone',
  'origin-denied',
  'version-changed',
  'precondition-failed',
] as const;

/**
 * How long content that has the digest that was asked for needs no revalidation: it cannot change.
 * Not for ever, so that the origin can take back what it gives out.
 */
const VERIFIED_MS = 3_600_000;

/** How long content that may have the digest is taken for it: the file may be replaced any moment. */
const UNVERIFIED_MS = 60_000;

/** What is to be found out, and for whom. */
interface Question {
  readonly url: URL;
  /** What the pointer is kept under. */
  readonly name: string;
  readonly scope: Scope;
  /** What was known so far. */
  readonly known: Pointer | undefined;
  readonly demands: RequestDemands;
  /** In which it is asked: what is purged from now on voids the answer. */
  readonly generation: number;
  readonly path: Path;
}

export class FileResolver {
  readonly #o: ResolverOptions;
  readonly #flights = new SingleFlight<string, Resolution>();

  constructor(options: ResolverOptions) {
    this.#o = options;
  }

  /**
   * Finds the current version of a file.
   *
   * @param demands what the client's Cache-Control asks for
   * @param path how the request has come here
   * @throws MillraceError
   */
  async resolve(
    url: URL,
    scope: Scope,
    demands: RequestDemands,
    signal: AbortSignal,
    path: Path = INGRESS,
  ): Promise<Resolution> {
    if (this.#o.purges.settling !== undefined) await this.#o.purges.settling;
    const now = this.#o.wallClock();
    const name = nameOf(url, demands);
    const entry = await this.#o.pointers.load(name, scope);
    const revalidate = demands.revalidate || this.#o.pointers.isDoubted(name, scope);
    if (entry !== undefined && !revalidate) {
      if (!isPointer(entry)) {
        if (now < entry.until)
          return { kind: 'tunnel', reason: entry.reason, take: () => undefined };
      } else if (
        isFresh(entry.freshness, now) &&
        currentAge(entry.freshness, now) <= (demands.maxAgeMs ?? Number.POSITIVE_INFINITY)
      ) {
        return { kind: 'file', pointer: entry, outcome: hit(entry, now) };
      }
    }
    if (demands.onlyIfCached) throw new MillraceError('not-cached');
    const known = entry !== undefined && isPointer(entry) ? entry : undefined;
    const generation = this.#o.purges.current;
    const question = { url, name, scope, known, generation, path };
    const flight = this.#flight({ ...question, demands: { ...demands, revalidate } }, signal);
    const resolution = await flight.result;
    if (!flight.joined || resolution.kind === 'tunnel' || resolution.outcome.hit) return resolution;
    return { ...resolution, outcome: { ...resolution.outcome, collapsed: true } };
  }

  /** Who is asked; as with chunks, a request never waits for one that was forwarded less often. */
  #flight(question: Question, signal: AbortSignal) {
    const { url, scope, demands, path } = question;
    // Whom a signed link has let in is not to fail with those who have none, and after a purge
    // nobody joins a question from before.
    const who = path.grant === undefined ? scope : 'signed';
    const what = `${question.name}${this.#o.purges.era(url.href, undefined)}`;
    const name = `origin ${who} ${what}`;
    const fromOrigin = (end: AbortSignal) =>
      this.#flights.run(name, end, (all) =>
        this.#orStale(question, () => this.#askOrigin(question, all)),
      );
    const network = scope === 'public' ? this.#o.network : undefined;
    if (network === undefined || this.#flights.has(name)) return fromOrigin(signal);
    if (network.routeVersion(url.href, path, new Set()).to === 'origin') return fromOrigin(signal);
    const how = demands.revalidate ? 'anew' : (demands.maxAgeMs ?? '');
    return this.#flights.run(`${who} ${path.hops} ${how} ${what}`, signal, (all) =>
      this.#orStale(question, async () => {
        const remote = await network.findVersion(url.href, demands, path, all);
        return remote === undefined ? fromOrigin(all).result : this.#learnt(question, remote);
      }),
    );
  }

  /** What another node says is kept as if the origin had said it. */
  #learnt(question: Question, remote: RemoteVersion): Resolution {
    if (remote.kind === 'tunnel') {
      const { reason } = remote;
      this.#keep(question, { reason, until: this.#o.wallClock() + TUNNEL_VERDICT_MS });
      return { kind: 'tunnel', reason, take: () => undefined };
    }
    const { pointer } = remote;
    this.#keep(question, pointer);
    const fwd = question.known === undefined ? 'uri-miss' : 'stale';
    return { kind: 'file', pointer, outcome: { hit: false, fwd, detail: 'peer' } };
  }

  #keep({ name, scope, generation }: Question, entry: PointerEntry): void {
    this.#o.pointers.put(name, scope, entry, generation);
  }

  /** Falls back on what was known where the origin cannot be reached. */
  async #orStale(
    { name, scope, known }: Question,
    ask: () => Promise<Resolution>,
  ): Promise<Resolution> {
    try {
      return await ask();
    } catch (error) {
      const now = this.#o.wallClock();
      const usable = known !== undefined && isUsableOnError(known.freshness, now);
      if (usable && STALE_IF.some((code) => isMillraceError(error, code))) {
        return {
          kind: 'file',
          pointer: known,
          outcome: { hit: true, ttlSeconds: ttl(known, now), detail: 'stale-origin-down' },
        };
      }
      // What the origin denies or no longer has must not be served on from memory.
      if (WITHDRAWN.some((code) => isMillraceError(error, code))) {
        this.#o.pointers.drop(name, scope);
      }
      throw error;
    }
  }

  async #askOrigin(question: Question, signal: AbortSignal): Promise<Resolution> {
    const { url, scope, known, path } = question;
    this.#o.records.pause(url).check(this.#o.now());
    const response = await this.#o.client.open({
      url,
      scope,
      grant: path.grant,
      headers: {
        range: formatRange({ start: 0, end: this.#o.chunkBytes }),
        ...(known === undefined ? {} : ifChanged(known.version)),
      },
      signal,
    });
    try {
      return await this.#understand(response, question, signal);
    } catch (error) {
      response.discard();
      throw error;
    }
  }

  async #understand(
    response: HttpResponse,
    question: Question,
    signal: AbortSignal,
  ): Promise<Resolution> {
    const { status, headers } = response;
    const { url, scope, known } = question;
    const { digest } = question.demands;
    const declared = digest !== undefined && checkDeclared(response, digest);
    if (status === 304 && known !== undefined) return this.#confirmed(response, question, known);
    if (status === 200) {
      checkIdentity(headers);
      return this.#tunnel(question, 'no-ranges', response);
    }
    if (status === 416 && parseContentRange(listField(headers, 'content-range'))?.total === 0) {
      return this.#tunnel(question, 'empty', response);
    }
    if (status !== 206) {
      throw statusError(response, this.#o.records.pause(response.url), this.#o.now());
    }
    const asked = { start: 0, end: this.#o.chunkBytes };
    const { total, validators } = checkRangeAnswer(headers, asked);
    const freshness = readFreshness(headers, response.requestedAt, response.arrivedAt);
    const tag = total === undefined ? undefined : versionTag(validators, total, digest);
    if (total === undefined) return this.#tunnel(question, 'unknown-length', response);
    if (tag === undefined || !canPin(validators)) {
      return this.#tunnel(question, 'no-validator', response);
    }
    if (freshness.notStorable !== undefined) {
      return this.#tunnel(question, freshness.notStorable, response);
    }
    const version: FileVersion = {
      url: url.href,
      scope,
      length: total,
      validators,
      digest,
      tag,
      fields: passedFields(headers),
    };
    const proven = await this.#adoptFirstChunk(response, version, question.generation, signal);
    const verified = proven || declared ? true : undefined;
    const pointer = asPointer({ version, freshness, finalUrl: response.url.href, verified });
    this.#keep(question, pointer);
    const fwd = known === undefined ? 'uri-miss' : 'stale';
    return {
      kind: 'file',
      pointer,
      outcome: { hit: false, fwd, fwdStatus: status, stored: true },
    };
  }

  /** The origin says that nothing has changed. */
  #confirmed(response: HttpResponse, question: Question, known: Pointer): Resolution {
    response.discard();
    // Fields of a 304 replace the stored ones (RFC 9111 4.3.4).
    const headers = { ...known.version.fields, ...response.headers };
    const freshness = readFreshness(headers, response.requestedAt, response.arrivedAt);
    const fields = { ...known.version.fields, ...passedFields(response.headers) };
    const version: FileVersion = { ...known.version, fields };
    const { verified } = known;
    const pointer = asPointer({ version, freshness, finalUrl: response.url.href, verified });
    if (matchVersion(known.version.validators, readValidators(headers)) === 'different') {
      throw new MillraceError('version-changed', '304 with another validator');
    }
    this.#keep(question, pointer);
    return { kind: 'file', pointer, outcome: { hit: false, fwd: 'stale', fwdStatus: 304 } };
  }

  /**
   * The body of the answer is the first chunk: nobody needs to ask for it again.
   *
   * @returns true, once all of it has come, if it is the whole of a file that was asked for by its
   *   digest, and has that; false, at once, for all others
   * @throws MillraceError `precondition-failed` if it has another
   */
  async #adoptFirstChunk(
    response: HttpResponse,
    version: FileVersion,
    generation: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const range = chunkRange(0, this.#o.chunkBytes, version.length);
    const { memory, onOriginBytes } = this.#o;
    const request = { version, range };
    const body: StartAttempt<ChunkBuffer> = async (_attempt, end, observer) => {
      observer.onSent();
      const abort = () => response.discard();
      end.addEventListener('abort', abort, { once: true });
      try {
        const chunk = await readChunk(response, range.end - range.start, memory, (count) => {
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
    if (!this.#o.chunks.adopt(request, body, generation)) response.discard();
    if (version.digest === undefined || range.end < version.length) return false;
    // However it comes to be here, it has been compared.
    (await this.#o.chunks.get(request, signal)).chunk.release();
    return true;
  }

  /** The file cannot be cut into chunks; a response that is all of it can still be used. */
  #tunnel(question: Question, reason: string, response: HttpResponse): Resolution {
    this.#keep(question, { reason, until: this.#o.wallClock() + TUNNEL_VERDICT_MS });
    if (response.status !== 200) {
      response.discard();
      return { kind: 'tunnel', reason, take: () => undefined };
    }
    let left: HttpResponse | undefined = response;
    const take = () => {
      const taken = left;
      left = undefined;
      return taken;
    };
    // Everybody who waits for this resolution gets it in the microtasks that follow.
    setImmediate(() => take()?.discard());
    return { kind: 'tunnel', reason, take };
  }
}

/** What pointers to the file are kept under. */
function nameOf(url: URL, { digest }: RequestDemands): string {
  return pointerName({ url: url.href, digest });
}

/** Content that is known to be what was asked for stays it; what may be it is looked at again soon. */
function asPointer(pointer: Pointer): Pointer {
  const { freshness, verified, version } = pointer;
  if (version.digest === undefined) return pointer;
  const { lifetimeMs: stated, initialAgeMs } = freshness;
  const lifetimeMs = verified
    ? Math.max(stated, initialAgeMs + VERIFIED_MS)
    : Math.min(stated, initialAgeMs + UNVERIFIED_MS);
  return { ...pointer, freshness: { ...freshness, lifetimeMs } };
}

function hit(pointer: Pointer, now: Millis): CacheOutcome {
  return { hit: true, ttlSeconds: ttl(pointer, now) };
}

function ttl(pointer: Pointer, now: Millis): number {
  const { freshness } = pointer;
  return Math.floor((freshness.lifetimeMs - currentAge(freshness, now)) / 1000);
}

/** The condition under which the origin sends the file again. */
function ifChanged(version: FileVersion): Record<string, string> {
  const { etag, lastModified } = version.validators;
  if (etag !== undefined) return { 'if-none-match': etag };
  return lastModified === undefined ? {} : { 'if-modified-since': formatHttpDate(lastModified) };
}

function passedFields(headers: Headers): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const name of PASSED_FIELDS) {
    const value = listField(headers, name);
    if (value !== undefined && value.length <= MAX_PASSED_FIELD_CHARS) fields[name] = value;
  }
  return fields;
}
