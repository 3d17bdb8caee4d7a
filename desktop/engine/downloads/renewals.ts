/**
 * Lets an added link continue an earlier download whose own link has expired, or that was paused, if
 * it leads to the same file. `shared/src/download/adding/renewal.ts` decides.
 */

import { resolve } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import {
  byLikelihood,
  type EarlierDownload,
  isNamedAlike,
  isUnnamed,
  type NewLink,
  nameKey,
  renewalOf,
} from '@millrace/shared/download/adding/renewal';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import { inTurns } from '../platform/turns.ts';
import type { Records } from '../queue/records.ts';
import type { DownloadRecord } from '../store/record.ts';
import type { Additions } from './additions.ts';
import type { Changes } from './changes.ts';
import type { NewDownload } from './download-schema.ts';

/** Longest time that finding out about one link, or about all of a list, takes, in milliseconds. */
const PROOF_MS = 10_000;
/** Most earlier downloads with which one link is compared. */
const MAX_COMPARED = 3;
/** Most failed downloads of a similar name that are looked at. */
const MAX_FAILED = 20;
/** Most links of one list that are compared with earlier downloads. */
const MAX_LISTED = 64;
/** Links of one list that are compared at a time. */
const AT_ONCE = 4;

/** Result of comparing a link with earlier downloads. Nothing has changed yet. */
export type RenewalPlan =
  /** The link is one of the earlier download's file. */
  | { readonly kind: 'renews'; readonly gid: string }
  /** The earlier download looks alike, but the file is another one, or cannot be compared. */
  | { readonly kind: 'apart'; readonly gid: string; readonly name: string; readonly why: string };

/** A download that was added, or that continues. */
export interface Added {
  readonly record: DownloadRecord;
  /** True: nothing was added; an earlier download continues with the link. */
  readonly renewed: boolean;
  /** The earlier download that looked alike, and why it does not continue. */
  readonly apart?: Extract<RenewalPlan, { kind: 'apart' }> | undefined;
}

export interface RenewalsOptions {
  readonly records: Records;
  readonly additions: Additions;
  readonly changes: Changes;
  readonly add: (asked: NewDownload) => DownloadRecord;
  /** Returns the download folder. */
  readonly dir: () => string;
  /** Unix milliseconds. */
  readonly now: () => Millis;
}

export class Renewals {
  readonly #options: RenewalsOptions;

  constructor(options: RenewalsOptions) {
    this.#options = options;
  }

  /**
   * Finds the earlier download that a link continues. Asks the link's server only if an earlier
   * download looks alike. Changes nothing.
   *
   * @param late ends the comparison; without a result, the link becomes a download of its own
   * @returns undefined if there is no such download
   * @throws the signal's reason
   */
  async plan(
    asked: NewDownload,
    signal?: AbortSignal,
    late: AbortSignal = AbortSignal.timeout(PROOF_MS),
  ): Promise<RenewalPlan | undefined> {
    const found = this.#alike(asked);
    if (found.length === 0) return undefined;
    const both = signal === undefined ? late : AbortSignal.any([signal, late]);
    let apart: RenewalPlan | undefined;
    for (const record of found.slice(0, MAX_COMPARED)) {
      const why = await this.#difference(record, asked, both).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (late.aborted) return 'its server took too long';
        return isMillraceError(error, 'different-file')
          ? error.detail
          : asMillraceError(error).message;
      });
      if (why === undefined) return { kind: 'renews', gid: record.gid };
      // A link without a name was compared on the chance alone.
      const link = linkOf(asked, this.#options.additions.draft(asked).request.urls[0] as string);
      if (!isNamedAlike(earlierOf(record), link)) continue;
      apart ??= { kind: 'apart', gid: record.gid, name: record.name, why };
    }
    return apart;
  }

  /** Returns true if an earlier download looks so alike that a link may continue it. Asks nobody. */
  mayRenew(asked: NewDownload): boolean {
    return this.#alike(asked).length > 0;
  }

  /** Finds the earlier downloads that the links of a list continue, as far as these are few. */
  async planAll(asked: readonly (NewDownload | undefined)[]): Promise<(RenewalPlan | undefined)[]> {
    const plans: (RenewalPlan | undefined)[] = asked.map(() => undefined);
    const alike = await inTurns(asked, (one, index) =>
      one !== undefined && this.#alike(one).length > 0 ? [{ one, index }] : [],
    );
    const waiting = alike.flat().slice(0, MAX_LISTED).values();
    const late = AbortSignal.timeout(PROOF_MS);
    const work = async () => {
      for (const { one, index } of waiting) plans[index] = await this.plan(one, undefined, late);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return plans;
  }

  /**
   * Carries out a plan: continues the earlier download, or adds a new one.
   *
   * @param add adds the new one
   * @throws MillraceError as `add`
   */
  carryOut(
    asked: NewDownload,
    plan: RenewalPlan | undefined,
    add: (asked: NewDownload) => DownloadRecord = this.#options.add,
  ): Added {
    const { records, additions, changes, now } = this.#options;
    if (plan?.kind === 'renews') {
      try {
        changes.renew(plan.gid, additions.draft(asked), now());
        return { record: records.get(plan.gid), renewed: true };
      } catch (error) {
        // The user has removed or started the earlier download meanwhile.
        const { code } = asMillraceError(error);
        if (code !== 'no-such-download' && code !== 'wrong-state') throw error;
        const same = records.find(plan.gid);
        const [url] = additions.draft(asked).request.urls;
        // The same link was given twice.
        if (same !== undefined && same.request.urls[0] === url)
          return { record: same, renewed: true };
      }
    }
    const record = add(asked);
    if (plan?.kind !== 'apart') return { record, renewed: false };
    const { name, why } = plan;
    records.emit({ kind: 'note', gid: record.gid, ...noteOf('link-apart', { name, why }) });
    return { record, renewed: false, apart: plan };
  }

  /** Returns the earlier downloads that a link may continue, the likeliest first. */
  #alike(asked: NewDownload): DownloadRecord[] {
    const { records, dir } = this.#options;
    const [url] = this.#draft(asked)?.request.urls ?? [];
    if (url === undefined || !isPlain(asked)) return [];
    const link = linkOf(asked, url);
    const text = stemOf(link.name ?? nameFromUrl(url));
    const texts = isUnnamed(link) ? [text, new URL(url).hostname] : [text];
    const failed = new Map<string, DownloadRecord>();
    for (const text of texts) {
      const page = { offset: 0, limit: MAX_FAILED };
      const { records: some } = records.store.history({ states: ['error'], text }, page);
      for (const record of some) failed.set(record.gid, record);
    }
    const isAlike = (record: DownloadRecord) => {
      const { exnode, overwrite, dir: folder } = record.request;
      if (exnode !== undefined || overwrite) return false;
      if (asked.dir !== undefined && resolve(dir(), asked.dir) !== folder) return false;
      return renewalOf(earlierOf(record), link) !== 'no';
    };
    const found = [...records.unfinished(), ...failed.values()].filter(isAlike);
    const facts = found.map((record) => ({ ...earlierOf(record), record }));
    return byLikelihood(facts, url).map(({ record }) => record);
  }

  /** Returns the checked record of a request; undefined if it cannot be added, as `add` will say. */
  #draft(asked: NewDownload): DownloadRecord | undefined {
    try {
      return this.#options.additions.draft(asked);
    } catch {
      return undefined;
    }
  }

  /** @returns the reason why a link does not continue a download; undefined if it does */
  async #difference(
    record: DownloadRecord,
    asked: NewDownload,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { additions, changes } = this.#options;
    const { request } = additions.draft(asked);
    const earlier = earlierOf(record);
    const link = linkOf(asked, request.urls[0] as string);
    if (renewalOf(earlier, link) === 'take') return undefined;
    const { found, length } = await changes.compareLink(record, request, signal);
    // The disk decides what is stored: the record may be of an earlier time.
    const isEmpty = found === 'nothing-stored';
    const storedBytes = isEmpty ? 0 : Math.max(1, earlier.storedBytes);
    const again = renewalOf({ ...earlier, storedBytes }, { ...link, length });
    if (again === 'take' || (again === 'compare' && found === 'same')) return undefined;
    if (length === undefined) return 'its server does not say how long it is';
    return again === 'no' ? 'the names differ' : 'its server sends no parts to compare';
  }
}

/** Returns true for a request that somebody could mean as a new link of an earlier download. */
function isPlain({ gid, exnode, startAt, overwrite, held, aria2 }: NewDownload): boolean {
  const own = [gid, exnode, startAt, held, aria2?.gid];
  return overwrite !== true && own.every((value) => value === undefined);
}

function earlierOf({ state, name, length, storedBytes, request }: DownloadRecord): EarlierDownload {
  return {
    state,
    name,
    url: request.urls[0] as string,
    // A request may state the length before a server does.
    length: length ?? request.length,
    storedBytes,
    digests: request.digests,
  };
}

function linkOf({ file, length, digests }: NewDownload, url: string): NewLink {
  const known = digests?.map((digest) => ({ ...digest, hex: digest.hex.toLowerCase() }));
  return { url, name: file, length, digests: known };
}

/** Returns the part of a name by which the list is searched: without numbers and extensions. */
function stemOf(name: string): string {
  return nameKey(name).replace(/(?<=.)\..*$/s, '');
}
