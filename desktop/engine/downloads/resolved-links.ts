/** Downloads whose links a resolver finds: when they are added, and when the links have expired. */

import { relative } from 'node:path';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import type { Resolver } from '@millrace/shared/bridge/rpc/settings-api';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import { type Answered, answered, type Resolved } from '@millrace/shared/download/resolve/resolved';
import { withoutLogin } from '../net/credentials.ts';
import { type Records, targetOf } from '../queue/records.ts';
import { linksAnew } from '../resolvers/links-anew.ts';
import type { Found, Resolvers } from '../resolvers/resolvers.ts';
import type { DownloadRecord } from '../store/record.ts';
import { inParallel } from '../sync/in-parallel.ts';
import type { Changes } from './changes.ts';
import type { NewDownload } from './download-schema.ts';

/** Longest time for the links of one call, in milliseconds, and links that are asked about at a time. */
const LONGEST_MS = 300_000;
const AT_ONCE = 4;

/** A download that is to be added; `resolver` names one, or none with false. */
export type AskedDownload = NewDownload & { readonly resolver?: string | false | undefined };

/** A download with the links that were found. */
export interface ResolvedDownload {
  readonly download: NewDownload;
  /** Undefined: its links are those that were given. */
  readonly found?: Found | undefined;
  readonly resolved?: Resolved | undefined;
}

export interface ResolvedLinksOptions {
  readonly records: Records;
  readonly changes: Changes;
  /** Undefined: this user has none. */
  readonly resolvers: Resolvers | undefined;
}

export class ResolvedLinks {
  readonly #options: ResolvedLinksOptions;

  constructor(options: ResolvedLinksOptions) {
    this.#options = options;
  }

  /** Returns the resolvers of this user. @throws MillraceError `state-unusable` */
  async list(): Promise<readonly Resolver[]> {
    return (await this.#options.resolvers?.list()) ?? [];
  }

  /** Replaces the resolvers of this user. @throws MillraceError as `Resolvers.set` */
  async set(resolvers: readonly unknown[]): Promise<void> {
    await this.#options.resolvers?.set(resolvers);
  }

  /** Asks about a URL, for the user to see the answer. @throws MillraceError as `Resolvers.ask` */
  async test(url: string, resolver: string | undefined): Promise<Found | undefined> {
    const signal = AbortSignal.timeout(LONGEST_MS);
    return this.#options.resolvers?.ask({ url, resolver, anew: true }, signal);
  }

  /**
   * Lets a resolver find the links of a download that is to be added, if one is for its URL.
   *
   * @param isOwn false for callers from other machines: no program runs for them
   * @throws MillraceError as `Resolvers.ask`
   */
  async find(
    { resolver, ...download }: AskedDownload,
    isOwn: boolean,
    signal: AbortSignal = AbortSignal.timeout(LONGEST_MS),
  ): Promise<ResolvedDownload> {
    const [url] = Array.isArray(download.urls) ? download.urls : [];
    const { resolvers } = this.#options;
    if (resolvers === undefined || !isOwn || typeof url !== 'string') return { download };
    if (download.exnode !== undefined) return { download };
    const found = await resolvers.ask({ url, resolver }, signal).catch((error: unknown) => {
      if (signal.aborted) throw new MillraceError('resolver-failed', { code: 'resolver-no-time' });
      throw error;
    });
    if (found === undefined) return { download };
    const { by, answer } = found;
    const { urls, expires } = answer;
    const changed = changedBy(answered({ ...download, digests: digestsOf(download) }, answer));
    // A name that a page gives leads nowhere else, and replaces no other file's.
    const named = download.file === undefined && answer.name !== undefined;
    const place = named ? { within: '.', rename: download.rename ?? true } : {};
    return {
      download: { ...download, ...changed, ...place },
      found,
      resolved: { by, url: pageOf(url), urls, ...(expires === undefined ? {} : { expires }) },
    };
  }

  /** Does so for the downloads of a list. @returns a result or the failure for each, in their order */
  async findAll(
    asked: readonly AskedDownload[],
    isOwn: boolean,
    ends?: AbortSignal,
  ): Promise<(ResolvedDownload | MillraceError)[]> {
    const results: (ResolvedDownload | MillraceError)[] = asked.map((download) => ({ download }));
    const late = AbortSignal.timeout(LONGEST_MS);
    const signal = ends === undefined ? late : AbortSignal.any([ends, late]);
    await inParallel([...asked.entries()], { atATime: AT_ONCE }, async ([index, one]) => {
      results[index] = await this.find(one, isOwn, signal).catch(asMillraceError);
    });
    return results;
  }

  /** Notes how the links of a download were found that has been added, or that continues with them. */
  keep(gid: string, resolved: Resolved | undefined): void {
    const { records } = this.#options;
    const record = records.find(gid);
    if (record === undefined || resolved === undefined) return;
    records.update(gid, { options: { ...record.options, resolved } });
    records.emit({ kind: 'note', gid, ...noteOf('resolved', { name: resolved.by }) });
  }

  /**
   * Lets the resolver of a download find its links anew, shows that they lead to the file that was
   * begun, and changes the download.
   *
   * @returns false if the download is none of a resolver
   * @throws MillraceError as `Resolvers.ask`; `different-file`
   */
  async renew(record: DownloadRecord, signal: AbortSignal): Promise<boolean> {
    const { resolvers, changes } = this.#options;
    const { gid, path, request, length = request.length } = record;
    const { resolved } = record.options;
    if (resolved === undefined || resolvers === undefined) return false;
    const file = path === undefined ? undefined : relative(request.dir, targetOf(record));
    const prove = (next: DownloadRequest) => changes.compareLink(record, next, signal);
    const expired = { request, resolved, length, file };
    const found = await linksAnew(resolvers, expired, prove, signal);
    changes.takeLinks(gid, found.request, found.resolved);
    return true;
  }
}

/** Returns a page's URL as resolvers get it, and as a page that is asked for again is found by. */
function pageOf(url: string): string {
  const page = new URL(withoutLogin(url));
  page.hash = '';
  return page.href;
}

function digestsOf({ digests = [] }: NewDownload) {
  return digests.map((digest) => ({ ...digest, hex: digest.hex.toLowerCase() }));
}

/** Returns the members that are there. */
function changedBy({ listed, urls, digests, ...rest }: Answered): Partial<NewDownload> {
  const some = Object.entries(rest).filter(([, value]) => value !== undefined);
  return {
    ...Object.fromEntries(some),
    ...(listed === undefined ? {} : { listed: [...listed] }),
    urls: [...urls],
    digests: [...(digests ?? [])],
    ...('login' in rest && rest.login === undefined ? { login: undefined } : {}),
  };
}
