/** Asks servers about links before they are added: length, type, name, and whether these are here already. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { ProbedLink } from '@millrace/shared/bridge/rpc/adding-api';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { listField, singleField } from '@millrace/shared/http/fields/headers';
import { canPin } from '@millrace/shared/http/fields/validators';
import type { RecentAnswers } from '../platform/recent-answers.ts';
import type { DownloadRecord } from '../store/record.ts';
import { inParallel } from '../sync/in-parallel.ts';
import type { NewDownload } from './download-schema.ts';
import type { Manager } from './manager.ts';
import type { AskedDownload, ResolvedDownload } from './resolved-links.ts';

/** Longest time for all links of a call, in milliseconds. */
const PROBE_MS = 10_000;
/** Links of a call that are asked at a time. */
const AT_ONCE = 4;
/** Most finished downloads of a name that are compared. */
const MAX_NAMESAKES = 20;
/** Longest type, tag or date that is told, in characters: servers write them. */
const MAX_FIELD_CHARS = 100;

/** Statements of a server about a file. */
export type ServerAnswer = ProbedLink & { readonly name: string };

interface ProbeOptions {
  /** True for callers of this machine: no resolver runs for others. */
  readonly isOwn?: boolean;
  /** Time for the servers, once the resolvers have answered. */
  readonly ms?: Millis;
  /** Ends the questions. */
  readonly signal?: AbortSignal | undefined;
  /** Answers that will do; undefined: each server is asked anew. */
  readonly recent?: RecentAnswers<ServerAnswer> | undefined;
}

/**
 * Asks about each link, after resolvers have found links to files. A failure of one is in its own
 * result. Changes nothing.
 *
 * @throws the signal's reason
 */
export async function probeLinks(
  manager: Manager,
  asked: readonly AskedDownload[],
  { isOwn = false, ms = PROBE_MS, signal, recent }: ProbeOptions = {},
): Promise<ProbedLink[]> {
  const found = await manager.resolvedLinks.findAll(asked, isOwn, signal);
  const late = AbortSignal.timeout(ms);
  const ends = signal === undefined ? late : AbortSignal.any([signal, late]);
  const results: ProbedLink[] = asked.map(() => ({ resumable: false }));
  await inParallel([...found.entries()], { atATime: AT_ONCE }, async ([index, one]) => {
    if (one instanceof MillraceError) {
      results[index] = { resumable: false, problem: one.code, said: one.detail };
      return;
    }
    const by = resolverWords(one);
    results[index] = await probe(manager, one.download, ends, recent).then(
      (answer) => ({ ...answer, ...by }),
      (error: unknown) => {
        const code = late.aborted ? 'origin-timeout' : asMillraceError(error).code;
        return { resumable: false, problem: code, ...by };
      },
    );
  });
  signal?.throwIfAborted();
  return results;
}

function resolverWords({ found }: ResolvedDownload): Pick<ProbedLink, 'resolver' | 'said'> {
  if (found === undefined) return {};
  const { note } = found.answer;
  return { resolver: found.by, ...(note === undefined ? {} : { said: note }) };
}

async function probe(
  manager: Manager,
  asked: NewDownload,
  signal: AbortSignal,
  recent: RecentAnswers<ServerAnswer> | undefined,
): Promise<ProbedLink> {
  const record = manager.draft(asked);
  const { request } = record;
  signal.throwIfAborted();
  const ask = (ends: AbortSignal) => askServer(request, ends);
  const found = await (recent?.ask(questionOf(request), signal, ask) ?? ask(signal));
  const { name, length } = found;
  if (length === undefined) return found;
  return { ...found, ...(await alike(manager, record, name, length)) };
}

/** Returns all of a request that its server's answer depends on. */
function questionOf(request: DownloadRequest): string {
  const { urls, file, headers, login, cookieFile, netrc, proxy } = request;
  return JSON.stringify([urls[0], file, headers, login, cookieFile, netrc, proxy]);
}

/**
 * Asks the server of a request's first URL what the file is, and fetches nothing of it but the first
 * bytes, if the server begins to send them.
 *
 * @throws MillraceError if the server does not give the file; the signal's reason
 */
export async function askServer(
  request: DownloadRequest,
  signal: AbortSignal,
): Promise<ServerAnswer> {
  // Imported here: the daemon starts without the code of transfers.
  const [{ Connections }, { FIRST_BYTES }, { nameFor }] = await Promise.all([
    import('../sources/connections.ts'),
    import('../sources/opening.ts'),
    import('../download/server-name.ts'),
  ]);
  const connections = await Connections.open(request);
  try {
    const source = connections.source('origin', connections.urls[0] as string, Math.random);
    const opened = await source.openRange({ start: 0, end: FIRST_BYTES }, undefined, signal);
    opened.discard();
    const { headers } = opened;
    const isWhole = opened.kind === 'whole';
    const length = isWhole ? opened.length : opened.version.length;
    const { etag, weakEtag } = isWhole ? opened.validators : opened.version.validators;
    const tag = etag ?? weakEtag;
    const type = listField(headers, 'content-type')?.split(';')[0]?.trim();
    const lastModified = singleField(headers, 'last-modified');
    const digests = fileDigests(headers, isWhole ? 200 : 206);
    return {
      name: request.file ?? nameFor(request.urls[0] as string, headers),
      resumable: !isWhole && canPin(opened.version.validators),
      ...(length === undefined ? {} : { length }),
      ...(type === undefined ? {} : { type: type.slice(0, MAX_FIELD_CHARS).toLowerCase() }),
      ...(tag === undefined ? {} : { etag: tag.slice(0, MAX_FIELD_CHARS) }),
      ...(lastModified === undefined
        ? {}
        : { lastModified: lastModified.slice(0, MAX_FIELD_CHARS) }),
      ...(digests.length === 0 ? {} : { digests }),
    };
  } finally {
    await connections.close();
  }
}

/** Finds a download of the list, or else a file of the folder, with that name and length. */
async function alike(
  manager: Manager,
  { request }: DownloadRecord,
  name: string,
  length: number,
): Promise<Pick<ProbedLink, 'here'>> {
  const finished = manager.store.history(
    { states: ['complete'], text: name },
    { offset: 0, limit: MAX_NAMESAKES },
  );
  const isAlike = (one: DownloadRecord) => one.name === name && one.length === length;
  if ([...manager.unfinished(), ...finished.records].some(isAlike)) return { here: 'list' };
  const file = await stat(join(request.dir, name)).catch(() => undefined);
  return file?.isFile() && file.size === length ? { here: 'folder' } : {};
}
