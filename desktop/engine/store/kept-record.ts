/**
 * Reads stored downloads: rows of the table, and whole records in the trash. A crash, a user or
 * another program may have changed them, so an invalid record is refused, with the place of the
 * fault.
 */

import { posix, win32 } from 'node:path';
import type { SQLOutputValue } from 'node:sqlite';
import { DIGEST_ALGORITHMS, DIGEST_DIGITS } from '@millrace/shared/base/digest';
import { readParticulars } from '@millrace/shared/base/error-table/particulars';
import { AFTER_ACTIONS, AFTER_STATES } from '@millrace/shared/download/after/after';
import { FOLLOWING, FOLLOWS } from '@millrace/shared/download/after/follow';
import type { SharedPiece } from '@millrace/shared/download/metalink/description';
import {
  type DownloadRequest,
  LOCI_LIMITS,
  REQUEST_DEFAULTS,
} from '@millrace/shared/download/request/request';
import { isFetchable } from '@millrace/shared/download/request/source-kinds';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import {
  type DownloadRecord,
  FINISHED,
  isFinished,
  type RecordOptions,
  UNFINISHED,
} from './record.ts';

/** A schema for each field. */
type Members<T> = Readonly<Record<keyof T, z.ZodType>>;

export type Row = Readonly<Record<string, SQLOutputValue>>;

/**
 * A value that was read, or the reason why it cannot be read. The reason never contains the value,
 * which may be secret.
 */
export type Reading<T> = { readonly value: T } | { readonly damage: string };

/** Form of a download's gid, which is also a part of paths in the trash. */
export const GID = /^[0-9a-f]{16}$/;

const SHA256 = /^[0-9a-f]{64}$/;
const url = z.string().refine((text) => isFetchable(text) && URL.canParse(text));
const path = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0'));
/** A path that is absolute on any system, because a list may come from another one. */
export const keptPath = path.refine((text) => posix.isAbsolute(text) || win32.isAbsolute(text));
const count = z.number().int().min(0);
const atLeastOne = z.number().int().min(1);
/** Unix milliseconds, in the range that the table can hold once they are rounded. */
const time = z.number().min(Number.MIN_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER);
const texts = z.record(z.string(), z.string());
const algorithm = z.enum(DIGEST_ALGORITHMS);
const digest = z
  .object({ algorithm, hex: z.string().regex(/^[0-9a-f]+$/) })
  .refine((one) => one.hex.length === DIGEST_DIGITS[one.algorithm]);

/** Hexadecimal digests, checked without a schema each because there may be a million of them. */
const hexes = z.custom<readonly string[]>(
  (value) => Array.isArray(value) && value.every((hex) => typeof hex === 'string'),
);

/**
 * The fields of a request. A field that an earlier version did not store gets its default. A field
 * without a schema would be lost at the next start, so that does not compile.
 */
const request = z.object({
  urls: z.array(url).min(1),
  listed: z.array(url).optional(),
  edges: z.array(z.string()).default([...REQUEST_DEFAULTS.edges]),
  direct: z.boolean().default(REQUEST_DEFAULTS.direct),
  dir: keptPath,
  file: path.optional(),
  within: path.optional(),
  overwrite: z.boolean().default(REQUEST_DEFAULTS.overwrite),
  rename: z.boolean().optional(),
  connections: atLeastOne.default(REQUEST_DEFAULTS.connections),
  connectionsPerHost: atLeastOne.default(REQUEST_DEFAULTS.connectionsPerHost),
  redundancy: z.enum(['basic', 'aggressive', 'progress']).default(REQUEST_DEFAULTS.redundancy),
  loci: z
    .object({
      copies: atLeastOne.max(LOCI_LIMITS.copies),
      progress: count,
      blockBytes: atLeastOne.min(LOCI_LIMITS.minBlockBytes),
      lookAheadBytes: atLeastOne.optional(),
    })
    .optional(),
  redundantShare: z.number().min(0).max(1).default(REQUEST_DEFAULTS.redundantShare),
  headers: texts.default({}),
  edgeHeaders: texts.optional(),
  login: z.object({ user: z.string(), password: z.string() }).optional(),
  cookieFile: path.optional(),
  netrc: z.boolean().optional(),
  proxy: z.string().optional(),
  length: count.optional(),
  exnode: z
    .object({ root: z.string().regex(SHA256), text: z.string(), key: z.string().optional() })
    .optional(),
  digests: z.array(digest).default([]),
  pieces: z
    .object({
      algorithm,
      pieceBytes: atLeastOne,
      hexes,
      from: count.optional(),
      tree: z.literal(true).optional(),
    })
    .optional(),
  older: z
    .object({
      path: keptPath,
      zsync: z.string().optional(),
      beside: z.boolean(),
      repairs: z.boolean().optional(),
      except: z.array(z.object({ start: count, end: count })).optional(),
    })
    .optional(),
  house: z.boolean().optional(),
  sidecars: z.boolean().default(REQUEST_DEFAULTS.sidecars),
  keys: z.array(z.string()).optional(),
  signatures: z.array(z.string()).optional(),
  limit: atLeastOne.optional(),
  timeoutMs: z.number().min(0).default(REQUEST_DEFAULTS.timeoutMs),
  retryForMs: z.number().min(0).optional(),
  held: z.string().optional(),
} satisfies Members<DownloadRequest>);

const sharedPiece = z.object({
  ...{ key: z.string(), hex: z.string(), bytes: atLeastOne },
  ...{ at: count, start: count, end: count, before: count, after: count },
} satisfies Members<SharedPiece>);

const follow = z.literal(FOLLOWS);

const options = z.object({
  rename: z.boolean(),
  named: z.boolean().optional(),
  maxTries: count,
  startAt: time.optional(),
  aria2: texts.optional(),
  handOff: z.string().optional(),
  renewedAt: time.optional(),
  elsewhere: keptPath.optional(),
  resolved: z
    .object({
      by: z.string(),
      url,
      urls: z.array(url).default([]),
      expires: time.optional(),
      stale: z.boolean().optional(),
      asked: count.optional(),
      storedBytes: count.optional(),
    })
    .optional(),
  shared: z.array(sharedPiece).optional(),
  sharedIn: keptPath.optional(),
  sharedAgain: z.array(z.string()).optional(),
  sharedSaid: z.array(z.string()).optional(),
  sharedRight: z.array(z.string()).optional(),
  follow: z.union([follow, z.object({ torrent: follow, metalink: follow })]).optional(),
  known: z.boolean().optional(),
  follows: z.enum(FOLLOWING).optional(),
  following: z.string().regex(GID).optional(),
  after: z
    .object({
      move: path.optional(),
      extract: z.boolean().optional(),
      run: z.string().optional(),
      open: z.boolean().optional(),
      webhook: z.boolean().optional(),
    })
    .optional(),
} satisfies Members<RecordOptions>);

/** One of another version has no text here: its English clause is shown. */
const keptParticulars = z
  .unknown()
  .transform((given) => readParticulars(given))
  .optional();

const record = z
  .object({
    gid: z.string().regex(GID),
    state: z.enum([...UNFINISHED, ...FINISHED]),
    request,
    options,
    priority: z.number().int(),
    rank: z.number(),
    category: z.string().optional(),
    host: z.string(),
    name: z.string(),
    path: path.optional(),
    length: count.optional(),
    storedBytes: count,
    receivedBytes: count,
    createdAt: time,
    startedAt: time.optional(),
    finishedAt: time.optional(),
    activeMs: time.optional(),
    attempts: count,
    retryAt: time.optional(),
    error: z
      .object({
        ...{ code: z.string(), message: z.string(), detail: z.string() },
        particulars: keptParticulars,
        onePiece: z.boolean().optional(),
      })
      .optional(),
    digest: digest.optional(),
    vouch: z
      .object({
        by: z.string(),
        fingerprint: z.string(),
        url: z.string().optional(),
        byList: z.boolean(),
        signedAt: time.optional(),
      })
      .optional(),
    after: z
      .array(
        z.object({
          action: z.enum(AFTER_ACTIONS),
          state: z.enum(AFTER_STATES),
          with: z.string().optional(),
          detail: z.string().optional(),
          particulars: keptParticulars,
          error: z.string().optional(),
          attempts: count.optional(),
          retryAt: time.optional(),
        }),
      )
      .optional(),
  } satisfies Members<DownloadRecord>)
  .refine(({ state, finishedAt }) => isFinished(state) === (finishedAt !== undefined), {
    message: 'does not fit the state',
    path: ['finishedAt'],
  });

/** Reads a record that is stored as a whole. */
export function readRecord(value: unknown): Reading<DownloadRecord> {
  const read = tryRead(record, value);
  // The schema reads missing fields as undefined, as `DownloadRecord` has them.
  if (read.success) return { value: read.data as DownloadRecord };
  const issue = read.error.issues[0];
  return { damage: [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ') };
}

/** Reads a row of the table of downloads. */
export function readDownloadRow(row: Row): Reading<DownloadRecord> {
  const { active_ms, stored_bytes, received_bytes, created_at, ...rest } = row;
  const parts: Record<string, unknown> = {};
  for (const name of ['request', 'options', 'error', 'digest', 'vouch', 'after'] as const) {
    const part = parseJson(row[name]);
    if ('damage' in part) return { damage: `${name}: ${part.damage}` };
    parts[name] = part.value;
  }
  const { gid, state, priority, rank, category, host, name, path, length, attempts } = rest;
  return readRecord({
    ...parts,
    gid,
    state,
    priority: plain(priority),
    rank,
    category: category ?? undefined,
    host,
    name,
    path: path ?? undefined,
    length: plain(length),
    storedBytes: plain(stored_bytes),
    receivedBytes: plain(received_bytes),
    createdAt: plain(created_at),
    startedAt: plain(row.started_at),
    finishedAt: plain(row.finished_at),
    attempts: plain(attempts),
    retryAt: plain(row.retry_at),
    activeMs: plain(active_ms) || undefined,
  });
}

/** Parses a column that holds JSON; the value is undefined if the column is empty. */
export function parseJson(column: SQLOutputValue | undefined): Reading<unknown> {
  if (column === null || column === undefined) return { value: undefined };
  try {
    return { value: JSON.parse(String(column)) };
  } catch {
    return { damage: 'is not JSON' };
  }
}

/** Returns a column's number as a number, even if the whole row was read with `bigint`s. */
export function plain(column: SQLOutputValue | undefined): SQLOutputValue | undefined {
  if (typeof column === 'bigint') {
    const number = Number(column);
    return Number.isSafeInteger(number) ? number : column;
  }
  return column ?? undefined;
}
