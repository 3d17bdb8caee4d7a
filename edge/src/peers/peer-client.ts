/**
 * Questions to other nodes: for the version of a file, and for chunks. A chunk is checked against
 * the digest that came with it before it is used.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { formatChunkName } from '@millrace/shared/cdn/chunks/chunk-name';
import { digestTag } from '@millrace/shared/cdn/chunks/version-tag';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { ChunkSpeed, type PeerSpeeds } from '@millrace/shared/cdn/fetch/peer-speeds';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import type { RequestDemands } from '@millrace/shared/http/answers/freshness';
import { singleField } from '@millrace/shared/http/fields/headers';
import { networkError } from '@millrace/shared/node/network-error';
import type { RangeResponse } from '@millrace/shared/node/range-client';
import type { Purges } from '../cache/purges.ts';
import { sha256 } from '../files/chunk.ts';
import { allocateFor, type ChunkBuffer, type ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkRequest } from '../files/chunk-request.ts';
import { type Path, TO_DEPOT, TO_KEEPER } from '../files/path.ts';
import { readStoredFile, type StoredFile } from './depot-message.ts';
import { InsideRequests, type InsideRequestsOptions } from './inside-requests.ts';
import { LabelPurges } from './label-purges.ts';
import type { ForwardTarget } from './membership.ts';
import { MAX_TEXT_BYTES, malformed, readBody } from './peer-answers.ts';
import { type PieceRequest, readPiece, type StreamPiece } from './stream-pieces.ts';
import { textDigest } from './text-digest.ts';
import { unlessSilent } from './unless-silent.ts';
import { type RemoteVersion, readVersion } from './version-message.ts';

export interface PeerClientOptions extends InsideRequestsOptions {
  readonly memory: ChunkMemory;
  /** Purges so far; optional for tests. */
  readonly purges?: Purges;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
  readonly onPeerBytes: (count: number) => void;
  /** Forecast of the speed of nodes. */
  readonly speeds: PeerSpeeds;
}

/** A chunk that a peer sent, in memory that belongs to the caller. */
export interface PeerChunk {
  readonly buffer: ChunkBuffer;
  /** SHA-256 of its bytes, checked. */
  readonly digest: Buffer;
}

export class PeerClient {
  readonly #options: PeerClientOptions;
  readonly #requests: InsideRequests;
  readonly #labelPurges: LabelPurges;

  constructor(options: PeerClientOptions) {
    this.#options = options;
    this.#requests = new InsideRequests(options);
    this.#labelPurges = new LabelPurges(options.purges);
  }

  close(): void {
    this.#requests.close();
  }

  /**
   * Fetches a chunk from another node.
   *
   * @param wanted the chunk; its salt goes into the name, and `ifHeld` is true if the node is to send
   *   it only if it has it, or fetches it from the origin
   * @param observer told of bytes twice: when they reach the peer, and when they arrive here
   * @throws PeerFailure; MillraceError for errors of the origin; the signal's reason
   */
  async fetchChunk(
    peer: ForwardTarget,
    wanted: ChunkRequest & { readonly salt: string; readonly ifHeld: boolean },
    path: Path,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<PeerChunk> {
    const { version, range, salt, ifHeld, directUrl, grant, client, trace } = wanted;
    const bytes = range.end - range.start;
    const name = formatChunkName({ url: version.url, range, salt, tag: version.tag });
    const fields = {
      [INSIDE.fileLength]: String(version.length),
      ...(directUrl === undefined ? {} : { [INSIDE.finalUrl]: directUrl }),
      ...(grant === undefined ? {} : { [INSIDE.permit]: grant.permit }),
      // Nodes of earlier versions ignore it: they fetch the chunk as they would for anybody.
      ...(ifHeld ? { 'cache-control': 'only-if-cached' } : {}),
      ...this.#purged(version.url, version.tag),
    };
    let atPeer = 0;
    const reached = (count: number) => {
      const more = Math.min(count, bytes) - atPeer;
      if (!(more >= 0)) return;
      atPeer += more;
      observer.onBytes(more);
    };
    const onBehalf = { ...path, client, trace };
    const { response, nonce } = await this.#requests.open(peer, name, fields, onBehalf, signal, {
      onSent: observer.onSent,
      onInterim: (head) => reached(Number(singleField(head.headers, INSIDE.progress) ?? 0)),
    });
    reached(bytes);
    const { headers } = response;
    const digest = singleField(headers, 'content-digest') ?? '';
    const length = singleField(headers, INSIDE.fileLength) ?? '';
    try {
      this.#options.auth.verifyAnswer(nonce, headers, ['200', digest, length]);
      if (Number(length) !== version.length) {
        throw new MillraceError('malformed-response', 'a peer has another length');
      }
    } catch (error) {
      response.discard();
      throw new PeerFailure(peer.name, error as MillraceError);
    }
    return this.#read(peer, response, bytes, digest, signal, observer);
  }

  /**
   * Asks another node for the current version of a file.
   *
   * @param first URL of the file and range of its first chunk
   * @throws as `fetchChunk`
   */
  async askVersion(
    peer: ForwardTarget,
    first: { readonly url: string; readonly range: ByteRange },
    demands: RequestDemands,
    path: Path,
    signal: AbortSignal,
  ): Promise<RemoteVersion> {
    const { digest } = demands;
    const tag = digest === undefined ? undefined : digestTag(digest);
    const name = formatChunkName({ ...first, salt: '', tag });
    return this.#labelPurges.ask(first.url, (told) => {
      const fields = {
        ...cacheControl(demands),
        [INSIDE.streams]: '2',
        ...(path.grant === undefined ? {} : { [INSIDE.permit]: path.grant.permit }),
        ...(told === undefined ? {} : { [INSIDE.purges]: told }),
      };
      return this.#question(peer, name, fields, path, signal, (text) =>
        readVersion(text, first.url, this.#options.wallClock(), digest),
      );
    });
  }

  /**
   * Fetches what has come of a range of a file that comes in one stream; waits until something has.
   *
   * @throws as `fetchChunk`, and PeerFailure if the node is silent
   */
  fetchPiece(
    peer: ForwardTarget,
    wanted: PieceRequest,
    path: Path,
    signal: AbortSignal,
  ): Promise<StreamPiece> {
    const name = formatChunkName({ ...wanted, salt: '' });
    const fields = {
      [INSIDE.want]: 'stream',
      ...(path.grant === undefined ? {} : { [INSIDE.permit]: path.grant.permit }),
    };
    return unlessSilent(this.#options, peer.name, signal, async (either, alive) => {
      const observer = { onSent: alive, onInterim: alive };
      const { response, nonce } = await this.#requests.open(
        peer,
        name,
        fields,
        path,
        either,
        observer,
      );
      const onBytes = (count: number) => {
        this.#options.onPeerBytes(count);
        alive();
      };
      return readPiece({ ...this.#options, peer: peer.name }, response, nonce, wanted, onBytes);
    });
  }

  /**
   * Asks a depot about a file.
   *
   * @param question as `depotQuestion` makes it
   * @throws PeerFailure; MillraceError of the depot; the signal's reason
   */
  askDepot(peer: ForwardTarget, question: string, signal: AbortSignal): Promise<StoredFile> {
    return this.#ask(peer, question, TO_DEPOT, signal);
  }

  /**
   * Asks a node to keep a copy of an exNode.
   *
   * @param question as `keepQuestion` makes it
   * @returns what it has now
   * @throws as `askDepot`
   */
  askToKeep(peer: ForwardTarget, question: string, signal: AbortSignal): Promise<StoredFile> {
    return this.#ask(peer, question, TO_KEEPER, signal);
  }

  /**
   * Fetches a chunk of a file from the depot that keeps it.
   *
   * @throws as `fetchChunk`, and PeerFailure if the depot is silent
   */
  async fetchFromDepot(
    peer: ForwardTarget,
    request: ChunkRequest,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<PeerChunk> {
    const wanted = { ...request, salt: '', ifHeld: false };
    return unlessSilent(this.#options, peer.name, signal, (either, alive) =>
      this.fetchChunk(peer, wanted, TO_DEPOT, either, {
        onSent() {
          alive();
          observer.onSent();
        },
        onBytes(count) {
          alive();
          observer.onBytes(count);
        },
      }),
    );
  }

  /** Asks about a stored file. */
  #ask(peer: ForwardTarget, url: string, path: Path, signal: AbortSignal): Promise<StoredFile> {
    const name = formatChunkName({ url, range: { start: 0, end: 1 }, salt: '', tag: undefined });
    return this.#question(peer, name, {}, path, signal, readStoredFile);
  }

  /** Asks a question that is answered with a text. */
  #question<T>(
    peer: ForwardTarget,
    name: string,
    more: Readonly<Record<string, string>>,
    path: Path,
    signal: AbortSignal,
    read: (text: string) => T,
  ): Promise<T> {
    const fields = { [INSIDE.want]: 'version', ...more };
    return unlessSilent(this.#options, peer.name, signal, async (either, alive) => {
      const { response, nonce } = await this.#requests.open(peer, name, fields, path, either, {
        onSent: alive,
        onInterim: alive,
      });
      return this.#readText(peer, response, nonce, read);
    });
  }

  async #readText<T>(
    peer: ForwardTarget,
    response: RangeResponse,
    nonce: string,
    read: (text: string) => T,
  ): Promise<T> {
    try {
      const text = (await readBody(response, MAX_TEXT_BYTES))?.toString() ?? '';
      this.#options.auth.verifyAnswer(nonce, response.headers, ['200', textDigest(text)]);
      return read(text);
    } catch (error) {
      const reason = error instanceof MillraceError ? error : malformed(error);
      throw new PeerFailure(peer.name, reason);
    }
  }

  /** Names the purges that the other node's answer must be newer than. */
  #purged(url: string, tag: string | undefined): Record<string, string> {
    const told = this.#options.purges?.told(url, tag);
    return told === undefined ? {} : { [INSIDE.purges]: told };
  }

  async #read(
    peer: ForwardTarget,
    response: RangeResponse,
    bytes: number,
    digest: string,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<PeerChunk> {
    const { memory, membership, now, onPeerBytes, speeds } = this.#options;
    const buffer = allocateFor(response, memory, bytes);
    const speed = new ChunkSpeed(speeds, peer.name, bytes, now());
    try {
      await response.readInto(buffer.data, (count) => {
        onPeerBytes(count);
        membership.table.onHeard(peer.name, now());
        speed.onBytes(count, now());
        observer.onBytes(count);
      });
      const actual = await sha256(buffer.data);
      if (digest !== `sha-256=:${actual.toString('base64')}:`) {
        membership.isolate(peer.name, now());
        throw new MillraceError('wrong-digest', `from ${peer.name}`);
      }
      return { buffer, digest: actual };
    } catch (error) {
      buffer.release();
      if (signal.aborted) throw signal.reason;
      throw new PeerFailure(peer.name, networkError(error, true));
    }
  }
}

function cacheControl({ revalidate, maxAgeMs }: RequestDemands): Record<string, string> {
  if (revalidate) return { 'cache-control': 'no-cache' };
  if (maxAgeMs === undefined) return {};
  return { 'cache-control': `max-age=${Math.floor(maxAgeMs / 1000)}` };
}
