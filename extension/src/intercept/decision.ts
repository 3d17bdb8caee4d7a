/**
 * Decides which downloads are taken from the browser: only those that can be fetched again and
 * shown to be the same file. All others are left alone.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { looksOneTime } from '@millrace/shared/download/request/signed-url';
import { readValidators } from '@millrace/shared/http/fields/validators';
import { isAmong } from '@millrace/shared/http/urls/host-list';
import type { Settings } from '../contract/settings.ts';
import type { Offer } from '../contract/taker.ts';
import { hostOf } from './hosts.ts';
import type { Hop, SeenRequest } from './request-log.ts';

/** Greatest age of a new download, ms: an older one was restored by the browser, not begun now. */
const NEW_MS = 30_000;

/** The properties of a browser's download on which the decision depends. */
export interface BegunDownload {
  readonly url: string;
  /** URL after all redirects. */
  readonly finalUrl: string;
  /** File name without folders. */
  readonly fileName: string;
  /**
   * Length, bytes; undefined if the browser does not know it: Firefox tells it only after a while.
   */
  readonly length: number | undefined;
  readonly begunAt: Millis;
  readonly running: boolean;
  readonly private: boolean;
  /** Whether an extension began the download, another one or this one. */
  readonly byExtension: boolean;
  /** Whether the browser warns of the download. */
  readonly dangerous: boolean;
}

export interface Circumstances {
  readonly now: Millis;
  readonly settings: Settings;
  /** Whether the user wants this download left alone. */
  readonly skipped: boolean;
  /** Returns whether a download that has failed or is paused has this name and length. */
  readonly continues: (fileName: string, length: number) => boolean;
}

/** Reason why a download is left alone. */
type Reason =
  | 'off'
  | 'skipped'
  | 'scheme'
  | 'private'
  | 'extension'
  | 'not-new'
  | 'dangerous'
  | 'host'
  | 'unseen'
  | 'method'
  | 'status'
  | 'encoded'
  | 'length'
  | 'type'
  | 'small'
  | 'unproven'
  | 'one-time';

/** An offer, without the members that do not come from the download. */
type Draft = Omit<Offer, 'handOff' | 'edges' | 'published'>;

export type Decision =
  | {
      readonly take: true;
      readonly draft: Draft;
      /** The requests that a GET of the draft's URL leads to: itself, and its redirects. */
      readonly hops: readonly Hop[];
      /** Answer to the last of these requests. */
      readonly answer: SeenRequest['answer'];
    }
  | { readonly take: false; readonly why: Reason };

/** Decides on a download. @param seen the download's request, if it was seen */
export function decide(
  download: BegunDownload,
  seen: SeenRequest | undefined,
  circumstances: Circumstances,
): Decision {
  const why = reasonAgainst(download, circumstances) ?? reasonAgainstAnswer(download, seen);
  if (why !== undefined) return { take: false, why };
  // Without a request there would have been a reason.
  const { hops, answer } = seen as SeenRequest;
  const gets = hops.slice(firstOfGets(hops));
  const [asked] = gets;
  if (asked === undefined) return { take: false, why: 'method' };
  if (looksOneTime(asked.url)) return { take: false, why: 'one-time' };
  const length = Number(answer?.headers['content-length']);
  const isSmall = tooSmall(download.fileName, length, circumstances.settings);
  if (isSmall && (length === 0 || !circumstances.continues(download.fileName, length))) {
    return { take: false, why: 'small' };
  }
  const {
    etag,
    'last-modified': lastModified,
    'content-type': contentType,
  } = answer?.headers ?? {};
  return {
    take: true,
    hops: gets,
    answer,
    draft: {
      url: withoutFragment(asked.url),
      finalUrl: withoutFragment(download.finalUrl),
      fileName: download.fileName,
      length,
      ...(etag === undefined ? {} : { etag }),
      ...(lastModified === undefined ? {} : { lastModified }),
      ...(contentType === undefined ? {} : { contentType }),
      headers: asked.headers ?? {},
      ...(isSmall ? { onlyRenews: true } : {}),
    },
  };
}

/** Returns a reason to leave a download alone, apart from its request. */
function reasonAgainst(
  download: BegunDownload,
  { now, settings, skipped }: Circumstances,
): Reason | undefined {
  if (!settings.on) return 'off';
  if (skipped) return 'skipped';
  const hosts = [hostOf(download.url), hostOf(download.finalUrl)];
  const known = hosts.filter((host) => host !== undefined);
  if (known.length < hosts.length) return 'scheme';
  if (download.private) return 'private';
  if (download.byExtension) return 'extension';
  if (!download.running || Math.abs(now - download.begunAt) > NEW_MS) return 'not-new';
  if (download.dangerous) return 'dangerous';
  if (known.some((host) => isAmong(host, settings.offHosts))) return 'host';
  const { onlyHosts, neverTypes } = settings;
  if (onlyHosts.length > 0 && !known.some((host) => isAmong(host, onlyHosts))) return 'host';
  return neverTypes.includes(typeOf(download.fileName)) ? 'type' : undefined;
}

/** Returns a reason why the same answer may not come again. */
function reasonAgainstAnswer(
  { length }: BegunDownload,
  seen: SeenRequest | undefined,
): Reason | undefined {
  if (seen?.answer === undefined) return 'unseen';
  const { status, headers } = seen.answer;
  if (seen.hops.at(-1)?.method !== 'GET') return 'method';
  if (status !== 200) return 'status';
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') return 'encoded';
  const said = headers['content-length']?.trim() ?? '';
  if (!/^\d{1,15}$/.test(said) || Number(said) !== (length ?? Number(said))) return 'length';
  const { etag, lastModified } = readValidators(headers);
  return etag === undefined && lastModified === undefined ? 'unproven' : undefined;
}

function tooSmall(fileName: string, length: number, settings: Settings): boolean {
  if (settings.alwaysTypes.includes(typeOf(fileName))) return length === 0;
  return length === 0 || length < settings.minBytes;
}

/** Returns the index of the first hop after the last one that is not a GET. */
function firstOfGets(hops: SeenRequest['hops']): number {
  return hops.findLastIndex(({ method }) => method !== 'GET') + 1;
}

/** Returns the extension of a file name, lower case, without the dot; empty if there is none. */
function typeOf(fileName: string): string {
  return /\.([^.]{1,20})$/.exec(fileName)?.[1]?.toLowerCase() ?? '';
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/s, '');
}
