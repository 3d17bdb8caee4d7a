/**
 * Asking other nodes: for the version of a file, and for chunks. A chunk is checked against the
 * digest that came with it before anybody gets to see it.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { ERRORS, type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { formatChunkName } from '@millrace/shared/cdn/chunk-name';
import { INSIDE } from '@millrace/shared/cdn/inside-message';
import { type Headers, listField, singleField } from '@millrace/shared/http/headers';
import { PROBLEM_TYPE } from '@millrace/shared/http/problem';
import { parseRetryAfter } from '@millrace/shared/http/retry-after';
import { networkError } from '@millrace/shared/node/network-error';
import { RangeClient, type RangeResponse } from '@millrace/shared/node/range-client';
import { sha256 } from '../cache/chunk.ts';
import type { ChunkBuffer, ChunkMemory } from '../cache/chunk-memory.ts';
import type { AttemptObserver } from '../cache/competing-fetch.ts';
import type { FileVersion } from '../cache/file-version.ts';
import type { ClusterAuth } from './cluster-auth.ts';
import type { ForwardTarget, Membership } from './membership.ts';

export interface PeerClientOptions {
  readonly auth: ClusterAuth;
  readonly memory: ChunkMemory;
  readonly membership: Membership;
  /** Connections to one node at a time. */
  readonly connections: number;
  readonly timeoutMs: Millis;
  readonly now: () => Millis;
  readonly onPeerBytes: (count: number) => void;
}

/** How a request has come so far. */
export interface Path {
  /** How often it has been forwarded. */
  readonly hops: number;
  /** Names of the nodes it has passed, this one not included. */
  readonly via: readonly string[];
}

/** The path of a request that enters the network here. */
export const INGRESS: Path = { hops: 0, via: [] };

/** The fault is the peer's, not the origin's: another node may well have the chunk. */
export class PeerFailure extends Error {
  readonly peer: string;
  /** What the client is told if nobody else can help. */
  readonly reason: MillraceError;

  constructor(peer: string, reason: MillraceError) {
    super(`${peer}: ${reason.message}`);
    this.peer = peer;
    this.reason = reason;
  }
}

const CONNECT_TIMEOUT_MS = 2000;
/** Problems of an answering node itself; all others are what the origin or the policy says. */
const OWN_PROBLEMS: ReadonlySet<ErrorCode> = new Set([
  'draining',
  'inside-request-refused',
  'internal',
  'loop-detected',
  'too-many-requests',
  'too-many-transfers',
  'origin-not-allowed',
  'private-address',
]);
const MAX_PROBLEM_BYTES = 16 * 1024;

export class PeerClient {
  readonly #o: PeerClientOptions;
  readonly #ranges: RangeClient;

  constructor(options: PeerClientOptions) {
    this.#o = options;
    const { connections, timeoutMs } = options;
    this.#ranges = new RangeClient({
      connections,
      timeoutMs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
  }

  close(): void {
    this.#ranges.close();
  }

  /**
   * Fetches a chunk from another node.
   *
   * @param salt retry salt that goes into the name
   * @throws PeerFailure; MillraceError for what the origin says; the signal's reason
   */
  async fetchChunk(
    peer: ForwardTarget,
    request: { readonly version: FileVersion; readonly range: ByteRange; readonly salt: string },
    finalUrl: string | undefined,
    path: Path,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { version, range, salt } = request;
    const name = formatChunkName({ url: version.url, range, salt, tag: version.tag });
    const fields = {
      [INSIDE.fileLength]: String(version.length),
      ...(finalUrl === undefined ? {} : { [INSIDE.finalUrl]: finalUrl }),
    };
    const { response, nonce } = await this.#open(peer, name, fields, path, signal, observer.onSent);
    const { headers } = response;
    const digest = singleField(headers, 'content-digest') ?? '';
    const length = singleField(headers, INSIDE.fileLength) ?? '';
    try {
      this.#o.auth.verifyAnswer(nonce, headers, ['200', digest, length]);
      if (Number(length) !== version.length) {
        throw new MillraceError('version-changed', 'a peer has another length');
      }
    } catch (error) {
      response.discard();
      throw new PeerFailure(peer.name, error as MillraceError);
    }
    return this.#read(peer, response, range.end - range.start, digest, signal, observer);
  }

  /**
   * Asks another node for the current version of a file.
   *
   * @param name pointer name: the first chunk's, without a tag
   * @returns the header of the answer
   * @throws as `fetchChunk`
   */
  async askVersion(
    peer: ForwardTarget,
    name: string,
    revalidate: boolean,
    path: Path,
    signal: AbortSignal,
  ): Promise<Headers> {
    const fields = {
      [INSIDE.want]: 'version',
      ...(revalidate ? { 'cache-control': 'no-cache' } : {}),
    };
    const { response, nonce } = await this.#open(peer, name, fields, path, signal, () => {});
    response.discard();
    const { headers } = response;
    const parts = [INSIDE.fileLength, INSIDE.tunnel, 'etag', 'last-modified'].map(
      (field) => singleField(headers, field) ?? '',
    );
    try {
      this.#o.auth.verifyAnswer(nonce, headers, ['200', ...parts]);
    } catch (error) {
      throw new PeerFailure(peer.name, error as MillraceError);
    }
    return headers;
  }

  /** Sends an inside request; anything but a 200 becomes an error. */
  async #open(
    peer: ForwardTarget,
    name: string,
    fields: Readonly<Record<string, string>>,
    path: Path,
    signal: AbortSignal,
    onSent: () => void,
  ): Promise<{ response: RangeResponse; nonce: string }> {
    const { auth, membership } = this.#o;
    const url = new URL(`${peer.url}/${name}`);
    const target = url.pathname + url.search;
    const { headers, nonce } = auth.sign('GET', target, {
      [INSIDE.mark]: '1',
      [INSIDE.hops]: String(path.hops + 1),
      [INSIDE.via]: [...path.via, membership.self.name].join(' '),
      ...fields,
    });
    let response: RangeResponse;
    try {
      response = await this.#ranges.open(url, headers, signal, onSent);
    } catch (error) {
      throw signal.aborted ? signal.reason : new PeerFailure(peer.name, networkError(error, false));
    }
    const load = Number(listField(response.headers, INSIDE.load));
    if (Number.isFinite(load)) membership.table.onLoad(peer.name, load);
    if (response.status === 200) return { response, nonce };
    const problem = await readProblem(response);
    if (problem === undefined || OWN_PROBLEMS.has(problem.code)) {
      const reason = problem ?? new MillraceError('origin-error', `a peer: ${response.status}`);
      throw new PeerFailure(peer.name, reason);
    }
    throw problem;
  }

  async #read(
    peer: ForwardTarget,
    response: RangeResponse,
    bytes: number,
    digest: string,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer> {
    const { memory, membership, now, onPeerBytes } = this.#o;
    const buffer = memory.allocate(bytes);
    try {
      await response.readInto(buffer.data, (count) => {
        onPeerBytes(count);
        observer.onBytes(count);
      });
      const actual = (await sha256(buffer.data)).toString('base64');
      if (digest !== `sha-256=:${actual}:`) {
        membership.table.onDamaged(peer.name, now());
        throw new MillraceError('wrong-digest', `from ${peer.name}`);
      }
      return buffer;
    } catch (error) {
      buffer.release();
      if (signal.aborted) throw signal.reason;
      throw new PeerFailure(peer.name, networkError(error, true));
    }
  }
}

/** The problem that an answer describes, if it does. */
async function readProblem(response: RangeResponse): Promise<MillraceError | undefined> {
  const { headers } = response;
  const bytes = Number(singleField(headers, 'content-length'));
  const type = listField(headers, 'content-type') ?? '';
  if (!response.plain || !type.startsWith(PROBLEM_TYPE) || !(bytes <= MAX_PROBLEM_BYTES)) {
    response.discard();
    return undefined;
  }
  try {
    const body = Buffer.alloc(bytes);
    await response.readInto(body, () => {});
    const { code, reason } = JSON.parse(body.toString()) as { code?: unknown; reason?: unknown };
    if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code)) return undefined;
    const retryAfterMs = parseRetryAfter(listField(headers, 'retry-after'), 0);
    return new MillraceError(code as ErrorCode, String(reason ?? ''), { retryAfterMs });
  } catch {
    return undefined;
  }
}
