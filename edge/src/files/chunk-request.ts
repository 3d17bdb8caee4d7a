/** Requests for chunks that no cache has, and the answers to them. */

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
  /** Where the origin's redirects led, as far as the asking node knows. */
  readonly directUrl?: string | undefined;
  /** Of the signed link that it is asked for by. */
  readonly grant?: LinkGrant | undefined;
  /** Requester that the origin is asked for: the client's key, or the node that it comes from. */
  readonly client?: string | undefined;
}

/** Where chunks come from that no node has. */
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
  /** How long such a fetch may take before another beside it is justified. */
  lateAfterMs(request: ChunkRequest): Millis;
}

/** The name that a chunk is cached under. */
export function chunkKey({ version, range }: ChunkRequest): string {
  return scopedKey(
    version.scope,
    formatChunkName({ url: version.url, range, salt: '', tag: version.tag }),
  );
}
