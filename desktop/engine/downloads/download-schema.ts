/** Checks what callers ask for: new downloads, and changes of them. */

import { DIGEST_ALGORITHMS, DIGEST_DIGITS } from '@millrace/shared/base/digest';
import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { afterChoiceSchema } from '@millrace/shared/bridge/contract/after-rows';
import { FOLLOWS } from '@millrace/shared/download/after/follow';
import { MAX_PRIORITY, MIN_PRIORITY } from '@millrace/shared/download/queue/queue-line';
import {
  LOCI_LIMITS,
  MAX_KEY_CHARS,
  MAX_KEYS,
  MAX_URLS,
} from '@millrace/shared/download/request/request';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import { MAX_EXNODE_BYTES } from '@millrace/shared/exnode/exnode';
import * as z from 'zod';

const MAX_EDGES = 16;
const MAX_HEADERS = 64;
const MAX_FIELD_CHARS = 16_384;
const MAX_LOGIN_CHARS = 2048;
const MAX_PIECES = 1_000_000;
/** Most bytes of a piece of a torrent. */
const MAX_SHARED_BYTES = 1024 * 1024 * 1024;
const MAX_PATH_CHARS = 4096;
const DAY_MS = 24 * 3600_000;

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const url = z.string().max(MAX_URL_CHARS);
const hex = z
  .string()
  .regex(/^[0-9a-fA-F]+$/)
  .transform((text) => text.toLowerCase());
const algorithm = z.enum(DIGEST_ALGORITHMS);
const path = z
  .string()
  .min(1)
  .max(MAX_PATH_CHARS)
  .refine((text) => !text.includes('\0'), 'must not have NUL in it');
const connections = z.number().int().min(1).max(MAX_PER_HOST);
const headers = z
  .record(
    z.string().regex(FIELD_NAME, 'is not a name of a header field'),
    z.string().max(MAX_FIELD_CHARS).regex(FIELD_VALUE, 'has a character that fields cannot have'),
  )
  .refine((fields) => Object.keys(fields).length <= MAX_HEADERS, 'are too many')
  .transform((fields) =>
    Object.fromEntries(Object.entries(fields).map(([k, v]) => [k.toLowerCase(), v.trim()])),
  );

const login = z.strictObject({
  user: z
    .string()
    .max(MAX_LOGIN_CHARS)
    .regex(/^[^:\x00-\x1f\x7f]*$/, 'has forbidden characters'),
  password: z
    .string()
    .max(MAX_LOGIN_CHARS)
    .regex(/^[^\x00-\x1f\x7f]*$/, 'has forbidden characters'),
});

/** A file on this disk, parts of which are likely to be those of the wanted one. */
export const older = z.strictObject({
  /** Absolute, or relative to the download folder. */
  path,
  /** The wanted file's list of blocks; without it, one beside the file is looked for. */
  zsync: url.optional(),
});

const kindFollow = z.literal(FOLLOWS);

/** Whether a torrent or Metalink document is followed to its files. */
const follow = z.union([kindFollow, z.strictObject({ torrent: kindFollow, metalink: kindFollow })]);

/** Parts of a request that can be changed later. */
const changeable = {
  dir: path,
  file: path,
  headers,
  connections,
  connectionsPerHost: connections,
  proxy: z.string().max(MAX_URL_CHARS),
  limit: z.number().int().min(1),
};

export const newDownloadSchema = z.strictObject({
  urls: z.array(url).min(1).max(MAX_URLS),
  /** URLs that a list or a description named: they may not lead into the user's network. */
  listed: z.union([z.boolean(), z.array(url).max(MAX_URLS)]).optional(),
  edges: z.array(url).max(MAX_EDGES).optional(),
  direct: z.boolean().optional(),
  dir: changeable.dir.optional(),
  file: changeable.file.optional(),
  /**
   * Folder that no link may lead the file out of: absolute, or relative to the download's folder.
   */
  within: path.optional(),
  overwrite: z.boolean().optional(),
  connections: connections.optional(),
  connectionsPerHost: connections.optional(),
  redundancy: z.enum(['basic', 'aggressive', 'progress']).optional(),
  /** The paper's own algorithm in place of ours. */
  loci: z
    .strictObject({
      copies: z.number().int().min(1).max(LOCI_LIMITS.copies),
      progress: z.number().int().min(0).max(LOCI_LIMITS.progress),
      blockBytes: z.number().int().min(LOCI_LIMITS.minBlockBytes).max(LOCI_LIMITS.maxBlockBytes),
      lookAheadBytes: z.number().int().min(1).optional(),
    })
    .optional(),
  redundantShare: z.number().min(0).max(1).optional(),
  headers: headers.optional(),
  login: login.optional(),
  cookieFile: path.optional(),
  netrc: z.boolean().optional(),
  proxy: changeable.proxy.optional(),
  /** Expected length of the file in bytes. */
  length: z.number().int().min(0).optional(),
  digests: z
    .array(
      z
        .strictObject({ algorithm, hex })
        .refine((d) => d.hex.length === DIGEST_DIGITS[d.algorithm], 'has the wrong length'),
    )
    .max(DIGEST_ALGORITHMS.length)
    .optional(),
  pieces: z
    .strictObject({
      algorithm,
      pieceBytes: z.number().int().min(1),
      hexes: z.array(hex).max(MAX_PIECES),
      from: z.number().int().min(0).optional(),
      tree: z.literal(true).optional(),
    })
    .optional(),
  /** The file's description by its parts. */
  exnode: z
    .strictObject({
      root: z.string().regex(/^[0-9a-f]{64}$/),
      text: z.string().max(MAX_EXNODE_BYTES),
      key: z.string().max(64).optional(),
    })
    .optional(),
  older: older.optional(),
  sidecars: z.boolean().optional(),
  keys: z.array(z.string().max(MAX_KEY_CHARS)).max(MAX_KEYS).optional(),
  signatures: z.array(z.string().max(MAX_KEY_CHARS)).max(MAX_KEYS).optional(),
  limit: changeable.limit.optional(),
  timeoutMs: z.number().int().min(100).max(DAY_MS).optional(),
  retryForMs: z.number().int().min(0).optional(),
  gid: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  priority: z.number().int().min(MIN_PRIORITY).max(MAX_PRIORITY).optional(),
  position: z.number().int().min(0).optional(),
  paused: z.boolean().optional(),
  /** Unix milliseconds. */
  startAt: z.number().int().min(0).optional(),
  /** True: uses the edges that the user has set up. `edges` takes precedence. */
  useEdges: z.boolean().optional(),
  category: z.string().max(64).optional(),
  rename: z.boolean().optional(),
  maxTries: z.number().int().min(0).max(1_000_000).optional(),
  aria2: z.record(z.string(), z.string()).optional(),
  /** UUID of the hand-off by which a browser passed the download to us. */
  handOff: z.uuid().optional(),
  /** Same as in `DownloadRequest` and `RecordOptions`. */
  held: z.uuid().optional(),
  elsewhere: path.optional(),
  after: afterChoiceSchema.optional(),
  follow: follow.optional(),
  /** Gid of the description that has led to it. */
  following: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  /** Pieces of a torrent that the file has in common with others. */
  shared: z
    .array(
      z
        .strictObject({
          key: z.string().regex(/^[0-9a-f]{40}:\d{1,9}$/),
          hex: hex.refine((text) => text.length === DIGEST_DIGITS.sha1),
          bytes: z.number().int().min(1).max(MAX_SHARED_BYTES),
          at: z.number().int().min(0),
          start: z.number().int().min(0),
          end: z.number().int().min(1),
          before: z.number().int().min(0),
          after: z.number().int().min(0),
        })
        .refine(
          ({ at, start, end, bytes, before, after }) =>
            start < end && before <= at && at + (end - start) + after <= bytes,
          'do not fit their piece',
        ),
    )
    .max(2)
    .optional(),
});

export type NewDownload = z.input<typeof newDownloadSchema>;

/** Members of a download that can be changed. */
export const changeSchema = z.strictObject({
  dir: changeable.dir.optional(),
  file: changeable.file.optional(),
  headers: headers.optional(),
  /** null: no log-in. */
  login: login.nullable().optional(),
  connections: connections.optional(),
  connectionsPerHost: connections.optional(),
  proxy: changeable.proxy.optional(),
  /** null: no limit. */
  limit: changeable.limit.nullable().optional(),
  priority: z.number().int().min(MIN_PRIORITY).max(MAX_PRIORITY).optional(),
  /** null: no category. */
  category: z.string().max(64).nullable().optional(),
  /** null: starts now. */
  startAt: z.number().int().min(0).nullable().optional(),
  rename: z.boolean().optional(),
  overwrite: z.boolean().optional(),
  maxTries: z.number().int().min(0).max(1_000_000).optional(),
  digests: newDownloadSchema.shape.digests,
  /** null: none. */
  older: older.nullable().optional(),
  timeoutMs: newDownloadSchema.shape.timeoutMs,
  /** null: those of the settings. */
  after: afterChoiceSchema.nullable().optional(),
  follow: follow.optional(),
  aria2: z.record(z.string(), z.string()).optional(),
});

export type Change = z.input<typeof changeSchema>;

/** Returns true if only the category changes: a finished download allows no other change. */
export function isOnlyCategory(change: Change): boolean {
  return change.category !== undefined && Object.keys(change).length === 1;
}
