/** Turns a request for a download into a checked record with all defaults. */

import { isAbsolute, join, resolve } from 'node:path';
import { DIGEST_ALGORITHMS, DIGEST_DIGITS } from '@millrace/shared/base/digest';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { MAX_PRIORITY, MIN_PRIORITY } from '@millrace/shared/download/queue/queue-line';
import { type Category, categoryOf } from '@millrace/shared/download/request/category';
import { nameFromUrl, possibleFileName } from '@millrace/shared/download/request/file-name';
import {
  type DownloadRequest,
  LOCI_LIMITS,
  MAX_KEY_CHARS,
  MAX_KEYS,
  REQUEST_DEFAULTS,
} from '@millrace/shared/download/request/request';
import { MAX_PER_HOST } from '@millrace/shared/download/transfer/host-limits';
import { MAX_EXNODE_BYTES } from '@millrace/shared/exnode/exnode';
import { isPublicHost, mayBeTold } from '@millrace/shared/http/urls/public-host';
import * as z from 'zod';
import { type Login, takeLogin } from '../net/credentials.ts';
import { check, downloadUrl, edgeUrl } from '../settings/checks.ts';
import type { DownloadRecord } from '../store/record.ts';
import { givenOlder, olderOf, path } from './given-older.ts';

export const MAX_URLS = 64;
const MAX_EDGES = 16;
const MAX_HEADERS = 64;
const MAX_FIELD_CHARS = 16_384;
const MAX_LOGIN_CHARS = 2048;
const MAX_PIECES = 1_000_000;
const DAY_MS = 24 * 3600_000;
/**
 * Time without an answer from any source, in milliseconds, after which a download makes room for
 * others and is retried later.
 */
const RETRY_FOR_MS = 120_000;
const DEFAULT_TRIES = 5;

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const url = z.string().max(MAX_URL_CHARS);
const hex = z
  .string()
  .regex(/^[0-9a-fA-F]+$/)
  .transform((text) => text.toLowerCase());
const algorithm = z.enum(DIGEST_ALGORITHMS);
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
  older: givenOlder.optional(),
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
});

export type NewDownload = z.input<typeof newDownloadSchema>;

export interface Surroundings {
  readonly gid: string;
  /** Download folder. */
  readonly dir: string;
  readonly categories: readonly Category[];
  /** Edges that the user has set up and switched on. */
  readonly edges?: readonly string[];
  /** The edge among them that runs on this machine for its user. */
  readonly localEdge?: string | undefined;
  /** Values for options that the request leaves out. */
  readonly defaults?: Pick<NewDownload, 'proxy' | 'connections' | 'sidecars'>;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Returns the edges for a download. Files in the user's network are named only to edges in that
 * network, and not to the edge on this machine: it reaches no more than this machine does.
 */
function edgesFor(urls: readonly string[], { edges = [], localEdge }: Surroundings) {
  if (urls.every((url) => isPublicHost(new URL(url).hostname))) return edges;
  return edges.filter((edge) => edge !== localEdge && mayBeTold(edge, true));
}

/**
 * Makes the record of a requested download.
 *
 * @throws MillraceError `bad-url`, `bad-option`, `credentials-in-url`
 */
export function newRecord(asked: NewDownload, around: Surroundings): DownloadRecord {
  const given = check(newDownloadSchema, asked);
  const { urls, login: inUrl } = cleanUrls(given.urls);
  const file = given.file === undefined ? undefined : checkFile(given.file);
  const name = file ?? nameFromUrl(urls[0] as string);
  const category = chooseCategory(given.category, name, around.categories);
  const dir = resolve(around.dir, given.dir ?? category?.folder ?? '');
  const edges = given.edges ?? (given.useEdges === true ? edgesFor(urls, around) : []);
  const { connections: usual, ...defaults } = around.defaults ?? {};
  const request: DownloadRequest = {
    ...REQUEST_DEFAULTS,
    retryForMs: RETRY_FOR_MS,
    ...pickRequest({ ...defaults, connections: usual, connectionsPerHost: usual }),
    ...pickRequest(given),
    urls,
    listed: listedOf(given.listed, urls),
    older: given.older && olderOf(given.older, around.dir),
    dir,
    file,
    within: given.within === undefined ? undefined : resolve(dir, given.within),
    // An edge's token is never part of its URL.
    edges: edges.map((edge) => takeLogin(edgeUrl(edge)).url),
    headers: given.headers ?? {},
    login: given.login ?? inUrl,
  };
  return {
    gid: given.gid ?? around.gid,
    state: given.paused === true ? 'paused' : 'queued',
    request,
    options: {
      rename: given.rename ?? true,
      ...(given.file === undefined || given.rename !== undefined ? {} : { named: true }),
      maxTries: given.maxTries ?? DEFAULT_TRIES,
      startAt: given.startAt,
      aria2: given.aria2,
      ...(given.handOff === undefined ? {} : { handOff: given.handOff }),
      ...(given.elsewhere === undefined ? {} : { elsewhere: given.elsewhere }),
    },
    priority: given.priority ?? 0,
    rank: 0,
    category: category?.name,
    host: new URL(urls[0] as string).host,
    name,
    path: undefined,
    length: undefined,
    storedBytes: 0,
    receivedBytes: 0,
    createdAt: around.now,
    startedAt: undefined,
    finishedAt: undefined,
    attempts: 0,
    retryAt: undefined,
    error: undefined,
    digest: undefined,
  };
}

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
  older: givenOlder.nullable().optional(),
  timeoutMs: newDownloadSchema.shape.timeoutMs,
  aria2: z.record(z.string(), z.string()).optional(),
});

export type Change = z.input<typeof changeSchema>;

/** Returns true if only the category changes: a finished download allows no other change. */
export function isOnlyCategory(change: Change): boolean {
  return change.category !== undefined && Object.keys(change).length === 1;
}

/**
 * Returns a file's path relative to the folder, with a name that can exist. The path is the user's
 * own; those of strangers have been made safe before.
 *
 * @throws MillraceError `bad-option` if the path would lead out of the folder
 */
export function checkFile(file: string): string {
  const parts = file.split(/[/\\]/);
  const last = parts.at(-1) as string;
  if (isAbsolute(file) || parts.includes('..') || /^[A-Za-z]:/.test(file) || last === '') {
    throw new MillraceError('bad-option', `file: "${file}" is not a path below the folder`);
  }
  return join(...parts.slice(0, -1), possibleFileName(last));
}

/**
 * Removes the user name and password from URLs, if no URL leads to another host.
 *
 * @throws MillraceError `bad-url`, `credentials-in-url`
 */
export function cleanUrls(texts: readonly string[]): { urls: string[]; login?: Login | undefined } {
  const taken = texts.map((text) => takeLogin(downloadUrl(text).href));
  const secret = taken.find((one) => one.login !== undefined);
  const urls = [...new Set(taken.map(({ url }) => url))];
  if (secret === undefined) return { urls };
  const { origin } = new URL(secret.url);
  if (urls.some((url) => new URL(url).origin !== origin)) {
    throw new MillraceError('credentials-in-url', 'together with URLs of other hosts');
  }
  return { urls, login: secret.login };
}

function chooseCategory(
  wanted: string | undefined,
  name: string,
  categories: readonly Category[],
): Category | undefined {
  if (wanted === undefined) return categoryOf(name, categories);
  const found = categories.find((category) => category.name === wanted);
  if (found !== undefined) return found;
  const known = categories.map((category) => category.name).join(', ');
  throw new MillraceError('bad-option', `category: there is no "${wanted}"; known are ${known}`);
}

function listedOf(
  listed: boolean | readonly string[] | undefined,
  urls: readonly string[],
): readonly string[] | undefined {
  if (listed === true) return urls;
  return listed === false ? undefined : listed;
}

const OWN: readonly string[] = [
  'gid',
  'priority',
  'position',
  'paused',
  'startAt',
  'useEdges',
  'category',
  'rename',
  'maxTries',
  'aria2',
  'handOff',
  'elsewhere',
];

function pickRequest(given: object): Partial<DownloadRequest> {
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => value !== undefined && !OWN.includes(name)),
  );
}
