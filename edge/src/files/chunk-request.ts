/** Requests for chunks that no cache has, and the source that answers them. */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { formatChunkName } from '@millrace/shared/cdn/chunks/chunk-name';
import type { AttemptObserver } from '@millrace/shared/cdn/fetch/competing-fetch';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import type { ChunkBuffer } from './chunk-memory.ts';
import { type FileVersion, scopedKey } from './file-version.ts';

/** One chunk of one version of a file. */
export interface ChunkRequest {
  readonly version: FileVersion;
  readonly range: ByteRange;
  /** URL that the origin's redirects led to, as far as the asking node knows. */
  readonly directUrl?: string | undefined;
  /** Grant of the signed link that the requester has used. */
  readonly grant?: LinkGrant | undefined;
  /** Requester for which the origin is asked: the client's key, or the asking node. */
  readonly client?: string | undefined;
  /** `traceparent` for requests that follow. */
  readonly trace?: string | undefined;
}

/** Source of chunks that no node has. */
export interface ChunkSource {
  /**
   * Fetches the bytes of a chunk, checked against the version. The memory belongs to the caller.
   *
   * @throws MillraceError
   */
  fetch(
    request: ChunkRequest,
    attempt: number,
    signal: AbortSignal,
    observer: AttemptObserver,
  ): Promise<ChunkBuffer>;
  /** Time after which a fetch justifies a competing one. */
  lateAfterMs(request: ChunkRequest): Millis;
  /** True for chunks that are on this machine already: no node is asked, and no cache keeps them. */
  isLocal?(request: ChunkRequest): boolean;
  /** True for chunks that only this node can fetch: those of a stream that it has received. */
  isOwn?(request: ChunkRequest): boolean;
}

/** Returns the name that a chunk is cached under. */
export function chunkKey({ version, range }: ChunkRequest): string {
  return scopedKey(
    version.scope,
    formatChunkName({ url: version.url, range, salt: '', tag: version.tag }),
  );
}
