/** Applies users' changes to downloads that have been added. */

import { relative, resolve } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import { type DownloadRequest, MAX_URLS } from '@millrace/shared/download/request/request';
import type { Resolved } from '@millrace/shared/download/resolve/resolved';
import type { QueueRunner } from '../queue/queue-runner.ts';
import { type Records, targetOf } from '../queue/records.ts';
import { checkChoice } from '../settings/after-settings.ts';
import { check } from '../settings/checks.ts';
import type { Settings } from '../settings/settings.ts';
import type { BegunFile, LinkProof } from '../sources/link-proof.ts';
import { type DownloadRecord, isFinished } from '../store/record.ts';
import { toCategory } from './category-change.ts';
import { type Change, changeSchema, isOnlyCategory } from './download-schema.ts';
import { checkFile, cleanUrls, olderOf } from './new-download.ts';
import { withoutLogins } from './secrets.ts';

export interface ChangesOptions {
  readonly records: Records;
  readonly queueRunner: QueueRunner;
  readonly settings: Settings;
  /** Returns the download folder. */
  readonly dir: () => string;
  readonly proveLink: ProveLink;
}

/**
 * Compares the file at the first URL of a request with the file that was begun.
 *
 * @throws MillraceError `different-file`, and the error with which the link fails
 */
export type ProveLink = (
  request: DownloadRequest,
  begun: BegunFile,
  signal?: AbortSignal,
) => Promise<LinkProof>;

export class Changes {
  readonly #records: Records;
  readonly #queueRunner: QueueRunner;
  readonly #settings: Settings;
  readonly #dir: () => string;
  readonly #proveLink: ProveLink;

  constructor({ records, queueRunner, settings, dir, proveLink }: ChangesOptions) {
    this.#records = records;
    this.#queueRunner = queueRunner;
    this.#settings = settings;
    this.#dir = dir;
    this.#proveLink = proveLink;
  }

  /**
   * Changes an unfinished download: its limit, priority and category at once, the rest by a
   * restart. For a finished download only the category can change.
   *
   * @throws MillraceError `no-such-download`, `wrong-state`, `bad-option`
   */
  change(gid: string, wanted: Change): void {
    const record = this.#records.get(gid);
    const given = check(changeSchema, wanted);
    const { older, after, follow, ...others } = given;
    const { limit, login, priority, category, rename, maxTries, aria2, startAt, ...rest } = others;
    if (after) checkChoice(after, this.#settings.after);
    const shelves = { dir: this.#dir(), categories: this.#settings.categories };
    const moved = category === undefined ? undefined : toCategory(record, category, shelves);
    if (isFinished(record.state)) {
      if (moved !== undefined && isOnlyCategory(given))
        return this.#records.changeFinished(record, { category: moved.category });
      throw new MillraceError('wrong-state', { code: 'is-finished', values: { gid } });
    }
    if (rest.dir === undefined && moved?.dir !== undefined) rest.dir = moved.dir;
    if (rest.file !== undefined) rest.file = checkFile(rest.file);
    if (rest.dir !== undefined) rest.dir = resolve(this.#dir(), rest.dir);
    const request = { ...record.request, ...rest };
    if (limit !== undefined) request.limit = limit ?? undefined;
    if (login !== undefined) request.login = login ?? undefined;
    if (older !== undefined) request.older = older ? olderOf(older, this.#dir()) : undefined;
    const options = {
      ...record.options,
      rename: rename ?? record.options.rename,
      named: rest.file === undefined ? record.options.named : rename === undefined,
      maxTries: maxTries ?? record.options.maxTries,
      startAt: startAt === undefined ? record.options.startAt : (startAt ?? undefined),
      aria2: { ...record.options.aria2, ...aria2 },
      follow: follow ?? record.options.follow,
      known: record.options.known === true || rest.file !== undefined || undefined,
      after: after === undefined ? record.options.after : (after ?? undefined),
    };
    const name = rest.file ?? record.name;
    this.#records.queue.setStart(gid, options.startAt);
    this.#records.update(gid, { request, options, name, category: (moved ?? record).category });
    // Actions that are chosen now are new ones, even if the file is repaired after earlier ones.
    if (after !== undefined) this.#records.update(gid, { after: undefined });
    if (limit !== undefined) this.#setLimit(gid, limit ?? undefined);
    if (priority !== undefined) {
      this.#records.queue.setPriority(gid, priority);
      this.#records.keepOrder([gid]);
    }
    const restarts = login !== undefined || older !== undefined || Object.keys(rest).length > 0;
    if (restarts) this.#queueRunner.restart(gid);
    this.#queueRunner.tick();
  }

  /**
   * Downloads the wrong parts of a complete file again. What a list of blocks or digests of pieces
   * show to be right is taken from the file, which is replaced once the new one has a known digest;
   * until then it stays as it is. A repair that has failed is made again.
   *
   * @throws MillraceError `wrong-state` if it is in another state, or Millrace has not downloaded
   *   it itself; `queue-full`
   */
  repair(gid: string): void {
    const record = this.#records.get(gid);
    const { state, request, digest, startedAt } = record;
    const hasFailed = state === 'error' && request.older?.repairs === true;
    // Of any other download that has failed there is no file, or one that is not its own.
    if (state !== 'complete' && !hasFailed) {
      throw new MillraceError('wrong-state', { code: `is-${state}` });
    }
    const path = targetOf(record);
    // A list that was imported may name any file as the one of a finished download.
    if (startedAt === undefined || (record.path ?? path) !== path) {
      throw new MillraceError('wrong-state', { code: 'file-elsewhere' });
    }
    const isKnown = request.digests.some(({ algorithm }) => algorithm === digest?.algorithm);
    const { zsync, except } = request.older ?? {};
    this.#records.reopen({
      ...record,
      error: undefined,
      digest: undefined,
      vouch: undefined,
      storedBytes: 0,
      request: {
        ...request,
        file: relative(request.dir, path),
        overwrite: true,
        held: undefined,
        digests: digest === undefined || isKnown ? request.digests : [...request.digests, digest],
        older: { path, beside: true, repairs: true, zsync, except },
      },
    });
    this.#records.emit({ kind: 'note', gid, ...noteOf('repairs', { file: record.name }) });
    this.#queueRunner.tick();
  }

  /**
   * Changes the URLs. A running download gets additional URLs at once; any other change restarts
   * it.
   *
   * @throws MillraceError `bad-url`, `credentials-in-url`, `bad-option` if there are none or too
   *   many
   */
  setUrls(gid: string, texts: readonly string[]): void {
    const { request } = this.#records.get(gid);
    const { urls, login } = cleanUrls(texts);
    const [first] = urls;
    if (first === undefined) throw new MillraceError('bad-option', { code: 'no-url-left' });
    if (urls.length > MAX_URLS) throw new MillraceError('bad-option', { code: 'too-many-urls' });
    this.#fetchFrom(gid, this.#forUrls(gid, request, urls, login));
    const run = this.#queueRunner.running(gid);
    if (run === undefined) return this.#queueRunner.restart(gid);
    const onlyMore = request.urls.every((url) => urls.includes(url)) && request.urls[0] === first;
    if (!onlyMore) return this.#queueRunner.restart(gid);
    for (const url of urls) if (!request.urls.includes(url)) run.addUrl(url);
  }

  /**
   * Checks that a new link leads to the file that was begun. Changes nothing.
   *
   * @throws MillraceError `wrong-state` if the download is complete, `bad-url`, `different-file`,
   *   and the error with which the link fails
   */
  async checkLink(gid: string, text: string): Promise<void> {
    const clean = cleanUrls([text]);
    const record = this.#records.get(gid);
    if (record.state === 'complete')
      throw new MillraceError('wrong-state', { code: 'is-complete' });
    const request = { ...this.#forUrls(gid, record.request, clean.urls, clean.login) };
    const path = record.path === undefined ? undefined : targetOf(record);
    const { length } = this.#queueRunner.running(gid)?.progress() ?? record;
    await this.#proveLink(request, { path, length: length ?? record.length });
  }

  /**
   * Compares the file of a download that is to be added with that of an earlier one. Changes
   * nothing.
   *
   * @throws MillraceError `different-file`, and the error with which the link fails
   */
  async compareLink(
    { path, length, ...record }: DownloadRecord,
    added: DownloadRequest,
    signal: AbortSignal,
  ): Promise<LinkProof> {
    const target = path === undefined ? undefined : targetOf({ ...record, path, length });
    return this.#proveLink(renewedRequest(record.request, added), { path: target, length }, signal);
  }

  /**
   * Continues a failed or paused download with the link of one that was to be added, and with what
   * belongs to the link: referrer, cookies and all other fields, log-in, edges.
   *
   * @param added the draft of the download that was to be added; paused: the download stays so
   * @param at Unix milliseconds
   * @throws MillraceError `wrong-state` in any other state, `queue-full`
   */
  renew(gid: string, added: DownloadRecord, at: Millis): void {
    const record = this.#records.get(gid);
    const { path, request, state } = record;
    if (state !== 'error' && state !== 'paused') {
      throw new MillraceError('wrong-state', { code: `is-${state}` });
    }
    const file = path === undefined ? request.file : relative(request.dir, targetOf(record));
    if (state === 'error') this.#records.reopen(record);
    this.#fetchFrom(gid, { ...renewedRequest(request, added.request), file });
    const { handOff } = added.options;
    const options = {
      ...{ ...record.options, startAt: undefined, renewedAt: at },
      // The link is another one than the resolver's.
      resolved: undefined,
    };
    this.#records.queue.setStart(gid, undefined);
    this.#records.update(gid, {
      options: handOff === undefined ? options : { ...options, handOff },
    });
    if (added.state === 'paused') {
      this.#records.queue.pause(gid);
      this.#records.update(gid, { state: 'paused', retryAt: undefined });
    } else {
      this.#records.queue.resume(gid);
      this.#records.requeue(gid);
    }
    const { host } = new URL(added.request.urls[0] as string);
    this.#records.emit({ kind: 'note', gid, ...noteOf('link-renewed', { host }) });
    this.#queueRunner.tick();
  }

  /** Replaces the links of a download by those that its resolver has found, before its next run. */
  takeLinks(gid: string, request: DownloadRequest, resolved: Resolved): void {
    if (this.#records.find(gid) === undefined) return;
    this.#fetchFrom(gid, request, resolved);
    const { host } = new URL(request.urls[0] as string);
    this.#records.emit({ kind: 'note', gid, ...noteOf('link-renewed', { host }) });
  }

  /**
   * Replaces the URL of a download whose link has expired: the engine resumes the download if the
   * file is the same.
   *
   * @throws MillraceError `wrong-state` if the download is complete, `bad-url`
   */
  replaceUrl(gid: string, text: string): void {
    const clean = cleanUrls([text]);
    const [url] = clean.urls as [string];
    const record = this.#records.get(gid);
    if (record.state === 'complete')
      throw new MillraceError('wrong-state', { code: 'is-complete' });
    // The name stays, because the partial file is found by its name.
    const { path, request } = record;
    const file = path === undefined ? request.file : relative(request.dir, targetOf(record));
    const urls = [url, ...request.urls.slice(1).filter((other) => other !== url)];
    const forUrls = this.#forUrls(gid, request, urls, clean.login);
    if (isFinished(record.state)) this.#records.reopen(record);
    this.#fetchFrom(gid, { ...forUrls, file });
    // With a new URL, a waiting download need not wait any longer.
    if (record.state === 'waiting') {
      this.#records.queue.hurry(gid);
      this.#records.requeue(gid);
    }
    this.#queueRunner.restart(gid);
    this.#queueRunner.tick();
  }

  /** @param resolved how the first link was found, if it is a new one of a resolver */
  #fetchFrom(gid: string, request: DownloadRequest, resolved?: Resolved): void {
    const [first] = request.urls as [string];
    const { host } = new URL(first);
    const { options, request: before } = this.#records.get(gid);
    // A link that the user gives in its place has nothing to do with the resolver.
    const kept = before.urls[0] === first ? options.resolved : undefined;
    this.#records.queue.setHost(gid, host);
    this.#records.update(gid, {
      ...{ request, host },
      options: { ...options, resolved: resolved ?? kept },
    });
  }

  /**
   * Returns the request with other URLs. Log-ins for the first URL's origin are left out for any
   * other.
   */
  #forUrls(
    gid: string,
    request: DownloadRequest,
    urls: readonly string[],
    login: DownloadRequest['login'],
  ): DownloadRequest {
    if (request.exnode !== undefined) {
      throw new MillraceError('bad-option', { code: 'exnode-names-sources' });
    }
    const [before, now] = [request.urls[0], urls[0]].map((url) => new URL(url as string).origin);
    const clean = before === now ? request : withoutLogins(request);
    if (JSON.stringify(clean) !== JSON.stringify(request)) {
      const note = noteOf('login-left-out', { before: String(before), now: String(now) });
      this.#records.emit({ kind: 'note', gid, ...note });
    }
    return { ...clean, urls, login: login ?? clean.login };
  }

  #setLimit(gid: string, limit: number | undefined): void {
    const run = this.#queueRunner.running(gid);
    if (run !== undefined) return run.setLimit(limit);
    // The download may be about to run with its earlier options.
    void this.#queueRunner.begun(gid).then(() => this.#queueRunner.running(gid)?.setLimit(limit));
  }
}

/**
 * Returns the request of an earlier download with another one's link, and all that belongs to it.
 * Further URLs of the earlier download stay: they are compared before they are used.
 */
function renewedRequest(earlier: DownloadRequest, added: DownloadRequest): DownloadRequest {
  const { edges, direct, headers, edgeHeaders, login, cookieFile, netrc, proxy } = added;
  const others = [...added.urls, ...earlier.urls.slice(1)];
  const urls = [...new Set(others)].slice(0, MAX_URLS);
  const listed = [...(added.listed ?? []), ...(earlier.listed ?? [])];
  const named = urls.filter((url) => listed.includes(url));
  const known = new Set(earlier.digests.map(({ algorithm }) => algorithm));
  const more = added.digests.filter(({ algorithm }) => !known.has(algorithm));
  return {
    ...earlier,
    ...{ urls, edges, direct, headers, edgeHeaders, login, cookieFile, netrc, proxy },
    listed: named.length === 0 ? undefined : named,
    digests: [...earlier.digests, ...more],
    older: added.older ?? earlier.older,
  };
}
