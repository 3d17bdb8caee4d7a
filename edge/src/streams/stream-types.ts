/** Types of streams: the parts that they need, and the bodies that bring their bytes. */

import type { Millis } from '@millrace/shared/base/clock';
import type { MillraceError } from '@millrace/shared/base/errors';
import type { StreamDigests } from '@millrace/shared/cdn/chunks/stream-plan';
import type { FreshTimes } from '@millrace/shared/http/answers/freshness';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import type { PointerCache } from '../cache/pointer-cache.ts';
import type { Purges } from '../cache/purges.ts';
import type { OriginClient } from '../egress/origin-client.ts';
import type { OriginRecords } from '../egress/origin-records.ts';
import type { Chunk } from '../files/chunk.ts';
import type { ChunkMemory } from '../files/chunk-memory.ts';
import type { ChunkSource } from '../files/chunk-request.ts';
import type { FileVersion, Scope } from '../files/file-version.ts';

/** A client's place in a stream. */
export interface Follower {
  /** Tells how far the client is, bytes. */
  at(position: number): void;
  leave(): void;
}

/** A version whose length may not be known yet. */
export type StreamedVersion = Omit<FileVersion, 'length'> & { readonly length: number | undefined };

/** Bytes of a file in order: the origin's answer, or those that come to another node. */
export interface StreamBody {
  /** Position of its first byte, the start of a chunk; absent: 0. */
  readonly from?: number;
  /** Names of the nodes that it comes from; absent: the origin is its source. */
  readonly sources?: readonly string[];
  /** True once it has broken off where another one may go on; absent: its error tells. */
  readonly isLost?: boolean;
  /** As `HttpResponse.pipe`. */
  pipe(write: (piece: Buffer, resume: () => void) => boolean): Promise<void>;
  discard(): void;
}

export interface RunningStreamOptions {
  readonly version: StreamedVersion;
  /** Digests of the version's chunks, as far as an earlier pass has brought them. */
  readonly digests: StreamDigests;
  /** Generation in which it was asked for. */
  readonly generation: number;
  readonly chunkBytes: number;
  readonly memory: ChunkMemory;
  /** Bytes that it may run ahead of its clients. */
  readonly aheadBytes: number;
  /** Length of the largest file that the cache takes. */
  readonly maxBytes: number;
  /** Stores a chunk, whose use ends with the call. @param index of it in the file */
  readonly keep: (chunk: Chunk, index: number) => void;
  /** Asks for the whole file again, of the same version. @throws MillraceError */
  readonly again: (signal: AbortSignal) => Promise<StreamBody>;
  readonly onOriginBytes: (count: number) => void;
  /** Called once, when it is complete (`error` absent) or has failed. */
  readonly onEnd: (error?: MillraceError) => void;
}

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
  readonly onPass: (pass: 'first' | 'later' | 'followed', end: 'complete' | 'failed') => void;
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
