/**
 * From a URL to the current version of the file: the pointer of NSDI's first chunk request. The
 * origin is asked for the first chunk; its header says how long the file is, which version it is,
 * how long that may be taken for granted, and whether the file can be cut into chunks at all. In a
 * network it is the owner of the first chunk that asks the origin; the others ask the owner.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { MAX_PASSED_FIELD_CHARS } from '@millrace/shared/base/limits';
import { SingleFlight } from '@millrace/shared/base/single-flight';
import { chunkRange } from '@millrace/shared/cdn/chunk-plan';
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
import type { StartAttempt } from '../cache/competing-fetch.ts';
import type { FileVersion, Pointer } from '../cache/file-version.ts';
import { isPointer, type PointerCache, TUNNEL_VERDICT_MS } from '../cache/pointer-cache.ts';
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
const WITHDRAWN = ['origin-not-found', 'origin-gone', 'origin-denied', 'version-changed'] as const;

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
    const entry = await this.#o.pointers.load(url.href, scope);
    const revalidate = demands.revalidate || this.#o.pointers.isDoubted(url.href, scope);
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
    const pointer = entry !== undefined && isPointer(entry) ? entry : undefined;
    const flight = this.#flight(url, scope, pointer, { ...demands, revalidate }, signal, path);
    const resolution = await flight.result;
    if (!flight.joined || resolution.kind === 'tunnel' || resolution.outcome.hit) return resolution;
    return { ...resolution, outcome: { ...resolution.outcome, collapsed: true } };
  }

  /** Who is asked; as with chunks, a request never waits for one that was forwarded less often. */
  #flight(
    url: URL,
    scope: Scope,
    known: Pointer | undefined,
    demands: RequestDemands,
    signal: AbortSignal,
    path: Path,
  ) {
    // After a purge the name is another: nobody joins a question from before.
    const { current: generation } = this.#o.purges;
    const era = this.#o.purges.era(url.href, undefined);
    const name = `origin ${scope} ${url.href}${era}`;
    const fromOrigin = (end: AbortSignal) =>
      this.#flights.run(name, end, (all) =>
        this.#orStale(url, scope, known, () => this.#askOrigin(url, scope, known, generation, all)),
      );
    const network = scope === 'public' ? this.#o.network : undefined;
    if (network === undefined || this.#flights.has(name)) return fromOrigin(signal);
    if (network.routeVersion(url.href, path, new Set()).to === 'origin') return fromOrigin(signal);
    const what = demands.revalidate ? 'anew' : (demands.maxAgeMs ?? '');
    return this.#flights.run(`${path.hops} ${what} ${url.href}${era}`, signal, (all) =>
      this.#orStale(url, scope, known, async () => {
        const remote = await network.findVersion(url.href, demands, path, all);
        return remote === undefined
          ? fromOrigin(all).result
          : this.#learnt(url, remote, generation);
      }),
    );
  }

  /** What another node says is kept as if the origin had said it. */
  #learnt(url: URL, remote: RemoteVersion, generation: number): Resolution {
    const { pointers, wallClock } = this.#o;
    if (remote.kind === 'tunnel') {
      const { reason } = remote;
      const until = wallClock() + TUNNEL_VERDICT_MS;
      pointers.put(url.href, 'public', { reason, until }, generation);
      return { kind: 'tunnel', reason, take: () => undefined };
    }
    const { pointer } = remote;
    pointers.put(url.href, 'public', pointer, generation);
    return { kind: 'file', pointer, outcome: { hit: false, fwd: 'uri-miss', detail: 'peer' } };
  }

  /** Falls back on what was known where the origin cannot be reached. */
  async #orStale(
    url: URL,
    scope: Scope,
    known: Pointer | undefined,
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
        this.#o.pointers.drop(url.href, scope);
      }
      throw error;
    }
  }

  async #askOrigin(
    url: URL,
    scope: Scope,
    known: Pointer | undefined,
    generation: number,
    signal: AbortSignal,
  ): Promise<Resolution> {
    this.#o.records.pause(url).check(this.#o.now());
    const response = await this.#o.client.open({
      url,
      scope,
      headers: {
        range: formatRange({ start: 0, end: this.#o.chunkBytes }),
        ...(known === undefined ? {} : ifChanged(known.version)),
      },
      signal,
    });
    try {
      return this.#understand(response, url, scope, known, generation);
    } catch (error) {
      response.discard();
      throw error;
    }
  }

  #understand(
    response: HttpResponse,
    url: URL,
    scope: Scope,
    known: Pointer | undefined,
    generation: number,
  ): Resolution {
    const { status, headers } = response;
    if (status === 304 && known !== undefined) return this.#confirmed(response, known, generation);
    if (status === 200) {
      checkIdentity(headers);
      return this.#tunnel(url, scope, 'no-ranges', response, generation);
    }
    if (status === 416 && parseContentRange(listField(headers, 'content-range'))?.total === 0) {
      return this.#tunnel(url, scope, 'empty', response, generation);
    }
    if (status !== 206) {
      throw statusError(response, this.#o.records.pause(response.url), this.#o.now());
    }
    const asked = { start: 0, end: this.#o.chunkBytes };
    const { total, validators } = checkRangeAnswer(headers, asked);
    const freshness = readFreshness(headers, response.requestedAt, response.arrivedAt);
    const tag = total === undefined ? undefined : versionTag(validators, total);
    if (total === undefined)
      return this.#tunnel(url, scope, 'unknown-length', response, generation);
    if (tag === undefined || !canPin(validators)) {
      return this.#tunnel(url, scope, 'no-validator', response, generation);
    }
    if (freshness.notStorable !== undefined) {
      return this.#tunnel(url, scope, freshness.notStorable, response, generation);
    }
    const version: FileVersion = {
      url: url.href,
      scope,
      length: total,
      validators,
      tag,
      fields: passedFields(headers),
    };
    const pointer: Pointer = { version, freshness, finalUrl: response.url.href };
    this.#o.pointers.put(url.href, scope, pointer, generation);
    this.#adoptFirstChunk(response, version, generation);
    const fwd = known === undefined ? 'uri-miss' : 'stale';
    return {
      kind: 'file',
      pointer,
      outcome: { hit: false, fwd, fwdStatus: status, stored: true },
    };
  }

  /** The origin says that nothing has changed. */
  #confirmed(response: HttpResponse, known: Pointer, generation: number): Resolution {
    response.discard();
    // Fields of a 304 replace the stored ones (RFC 9111 4.3.4).
    const headers = { ...known.version.fields, ...response.headers };
    const freshness = readFreshness(headers, response.requestedAt, response.arrivedAt);
    const fields = { ...known.version.fields, ...passedFields(response.headers) };
    const version: FileVersion = { ...known.version, fields };
    const pointer: Pointer = { version, freshness, finalUrl: response.url.href };
    if (matchVersion(known.version.validators, readValidators(headers)) === 'different') {
      throw new MillraceError('version-changed', '304 with another validator');
    }
    this.#o.pointers.put(known.version.url, known.version.scope, pointer, generation);
    return { kind: 'file', pointer, outcome: { hit: false, fwd: 'stale', fwdStatus: 304 } };
  }

  /** The body of the answer is the first chunk: nobody needs to ask for it again. */
  #adoptFirstChunk(response: HttpResponse, version: FileVersion, generation: number): void {
    const range = chunkRange(0, this.#o.chunkBytes, version.length);
    const { memory, onOriginBytes } = this.#o;
    const body: StartAttempt<ChunkBuffer> = async (_attempt, signal, observer) => {
      observer.onSent();
      const abort = () => response.discard();
      signal.addEventListener('abort', abort, { once: true });
      try {
        return await readChunk(response, range.end - range.start, memory, (count) => {
          onOriginBytes(count);
          observer.onBytes(count);
        });
      } finally {
        signal.removeEventListener('abort', abort);
      }
    };
    if (!this.#o.chunks.adopt({ version, range }, body, generation)) response.discard();
  }

  /** The file cannot be cut into chunks; a response that is all of it can still be used. */
  #tunnel(
    url: URL,
    scope: Scope,
    reason: string,
    response: HttpResponse,
    generation: number,
  ): Resolution {
    const until = this.#o.wallClock() + TUNNEL_VERDICT_MS;
    this.#o.pointers.put(url.href, scope, { reason, until }, generation);
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
