/** Heads of allocations: everything about them but their bytes, as their files have it. */

import { MAX_ETAG_CHARS } from '@millrace/shared/base/limits';
import { MAX_PULL_MESSAGE_CHARS } from '@millrace/shared/cdn/depot/pull-record';
import { MAX_SEEN } from '@millrace/shared/cdn/depot/seen-versions';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';

const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const time = z.number().min(0).max(1e15);
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

/** Version that a pull has seen at a URL. */
const SEEN_VERSION = z.object({
  of: hex64,
  validators: z.object({
    etag: z.string().max(MAX_ETAG_CHARS).optional(),
    weakEtag: z.string().max(MAX_ETAG_CHARS).optional(),
    lastModified: z.number().optional(),
    lastModifiedIsStrong: z.boolean().optional(),
  }),
  length: bytes.optional(),
  since: bytes,
  from: bytes,
});

/** Head of an allocation: everything about it but its bytes. */
const HEAD = z.object({
  format: z.literal(1),
  id: z.string().regex(/^[A-Za-z0-9_-]{16}$/),
  owner: z.string(),
  proofs: z.object({ read: hex64, write: hex64, manage: hex64 }),
  /** Unix milliseconds. */
  createdAt: time,
  expiresAt: time,
  /** Bytes reserved, and whether more are as they come. */
  bytes,
  grows: z.boolean(),
  /** True if its upload can be continued by another request. */
  resumable: z.boolean(),
  name: z.string().max(1000).optional(),
  type: z.string().max(200).optional(),
  /** Length and SHA-256 that were stated before all bytes came. */
  length: bytes.optional(),
  sha256: hex64.optional(),
  /** Set when the upload is complete. */
  final: z.object({ length: bytes, sha256: hex64, at: time }).optional(),
  /** Number of times that the exNode here has been replaced; absent: none. */
  edition: z.int().min(1).optional(),
  /** The pull that was begun last, until another one or an append begins. */
  pull: z
    .object({
      startedAt: time,
      seen: z.array(SEEN_VERSION).max(MAX_SEEN).readonly().optional(),
      failure: z
        .object({ code: z.string(), message: z.string().max(MAX_PULL_MESSAGE_CHARS), at: time })
        .optional(),
    })
    .optional(),
  /** True for the space of a guest; and SHA-256 of the claim of the one who uses it. */
  guest: z.literal(true).optional(),
  claim: hex64.optional(),
  /** True once bytes read from the disk were not those that had been written. */
  damaged: z.literal(true).optional(),
});
export type Head = z.output<typeof HEAD>;

/** Parses the text of a head. @throws if it is damaged */
export function parseHead(text: string): Head {
  return readOrThrow(HEAD, JSON.parse(text));
}
