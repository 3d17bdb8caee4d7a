/** Turns a request for a download into a checked record with all defaults. */

import { isAbsolute, join, resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Category, categoryOf } from '@millrace/shared/download/request/category';
import { nameFromUrl, possibleFileName } from '@millrace/shared/download/request/file-name';
import {
  type DownloadRequest,
  type OlderFile,
  REQUEST_DEFAULTS,
} from '@millrace/shared/download/request/request';
import { isPublicHost, mayBeTold } from '@millrace/shared/http/urls/public-host';
import type * as z from 'zod';
import { type Login, takeLogin } from '../net/credentials.ts';
import { check, downloadUrl, edgeUrl } from '../settings/checks.ts';
import type { DownloadRecord } from '../store/record.ts';
import { type NewDownload, newDownloadSchema, type older } from './download-schema.ts';

/**
 * Time without an answer from any source, in milliseconds, after which a download makes room for
 * others and is retried later.
 */
const RETRY_FOR_MS = 120_000;
const DEFAULT_TRIES = 5;

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
    ...(given.useEdges === true ? { house: true } : {}),
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
      ...(given.after === undefined ? {} : { after: given.after }),
      ...followOf(given),
      ...(given.shared === undefined ? {} : { shared: given.shared, sharedIn: dir }),
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

/** Returns the options for following a description to its files. A browser's name for a file is not the user's. */
function followOf(given: z.output<typeof newDownloadSchema>): Partial<DownloadRecord['options']> {
  const { follow, following, file, digests = [], handOff } = given;
  const isKnown = (file !== undefined && handOff === undefined) || digests.length > 0;
  return {
    ...(follow === undefined ? {} : { follow }),
    ...(following === undefined ? {} : { following }),
    ...(isKnown ? { known: true } : {}),
  };
}

/**
 * Returns the older file of a request.
 *
 * @param dir download folder
 * @throws MillraceError `bad-url`
 */
export function olderOf({ path: given, zsync }: z.infer<typeof older>, dir: string): OlderFile {
  return {
    path: resolve(dir, given),
    beside: true,
    ...(zsync === undefined ? {} : { zsync: downloadUrl(zsync).href }),
  };
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
    throw new MillraceError('bad-option', { code: 'not-below-folder', values: { file } });
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
    throw new MillraceError('credentials-in-url', { code: 'with-other-hosts' });
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
  throw new MillraceError('bad-option', {
    code: 'no-category-of',
    values: { name: wanted, known },
  });
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
  'after',
  'follow',
  'following',
  'shared',
];

function pickRequest(given: object): Partial<DownloadRequest> {
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => value !== undefined && !OWN.includes(name)),
  );
}
