/**
 * Judges from the answers of an origin how well edges can serve its file. The edge sends the
 * requests; this module only decides, as the edge does when the file is requested (NSDI 3.3).
 */

import type { ByteRange } from '../../base/byte-range.ts';
import { type ErrorCode, isMillraceError } from '../../base/errors.ts';
import { isFresh, readFreshness } from '../answers/freshness.ts';
import {
  checkRangeAnswer,
  contentCoding,
  judgeWholeAsSent,
  readContentLength,
} from '../answers/range-contract.ts';
import { whyNotStreamed } from '../answers/whole-answer.ts';
import { parseContentRange } from '../fields/content-range.ts';
import { type Headers, listField } from '../fields/headers.ts';
import { canPin, matchVersion, readValidators, type Validators } from '../fields/validators.ts';
import { judgeCaching } from './origin-caching.ts';
import type { Finding, FindingId, Grade } from './origin-findings.ts';

/** One answer of the origin, without its body. */
export interface SeenAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** When the request was sent and its answer arrived, Unix milliseconds. */
  readonly requestedAt: number;
  readonly arrivedAt: number;
}

/** A redirect that was followed. */
export interface Hop {
  readonly status: number;
  readonly from: string;
  readonly to: string;
}

/** Everything that was seen of a file. */
export interface OriginSighting {
  readonly url: string;
  readonly hops: readonly Hop[];
  /** The answer to a request for the first bytes, and the requested range. */
  readonly begin: SeenAnswer;
  readonly beginAsked: ByteRange;
  /** The answer to a request for bytes from the middle if the version is the same. */
  readonly middle?: SeenAnswer | undefined;
  readonly middleAsked?: ByteRange | undefined;
  /** True if the origin answered 412 to that condition; `middle` is then its answer without it. */
  readonly conditionRefused?: boolean;
  /** The answer to a request for the first bytes if the version is another one. */
  readonly again?: SeenAnswer | undefined;
  /** The fault of a body, if there was one. */
  readonly bodyFault?: ErrorCode | undefined;
  /** True if the link has a signature or a ticket. */
  readonly signed: boolean;
}

/**
 * The way in which an edge can serve the file: in chunks that it caches, in one stream that it
 * caches as it passes, passed through as a whole, or not at all.
 */
export type Service = 'chunks' | 'streamed' | 'passed-through' | 'none';

export interface OriginReport {
  readonly service: Service;
  /** Length of the file in bytes, if the origin states it. */
  readonly length: number | undefined;
  /** The findings, worst first. */
  readonly findings: readonly Finding[];
}

const WORST_FIRST: readonly Grade[] = ['bad', 'limited', 'good', 'note'];
/** Types of web pages: a link to a page is seldom the intended file. */
const PAGE = /^(text\/html|application\/xhtml\+xml)\b/i;

/** Judges the sighting; never throws. */
export function judgeOrigin(seen: OriginSighting): OriginReport {
  const status = judgeStatus(seen.begin);
  const transport = [...judgeRedirects(seen), ...judgeTransport(seen)];
  if (status !== undefined) return report('none', undefined, [status, ...transport]);
  const ranges = judgeRanges(seen);
  const { begin } = seen;
  const version = ranges.length === undefined ? [] : judgeVersion(seen);
  const freshness = readFreshness(begin.headers, begin.requestedAt, begin.arrivedAt);
  const findings = [
    ...ranges.findings,
    ...version,
    ...judgeCaching(begin.headers, freshness),
    ...judgeRevalidation(seen),
    ...judgeType(begin.headers),
    ...transport,
  ];
  if (ranges.service !== 'chunks') return report(ranges.service, ranges.length, findings);
  if (!canPin(validatorsOf(begin)) || freshness.notStorable !== undefined) {
    // Of a file that nothing pins, the whole is kept, for the time for which it is fresh.
    const keeps = isFresh(freshness, freshness.arrivedAt);
    const service = keeps ? serviceOfWhole(seen, ranges.length) : 'passed-through';
    return report(service, ranges.length, findings);
  }
  // The edge relies on the first answer, and gives up when the second one contradicts it.
  const unstable = version.some(({ id }) => id === 'version-unstable');
  return report(unstable ? 'none' : 'chunks', ranges.length, findings);
}

function report(
  service: Service,
  length: number | undefined,
  findings: readonly Finding[],
): OriginReport {
  const order = (finding: Finding) => WORST_FIRST.indexOf(finding.grade);
  return { service, length, findings: findings.toSorted((a, b) => order(a) - order(b)) };
}

/** Judges the status; undefined for an answer with the file. */
function judgeStatus({ status, headers }: SeenAnswer): Finding | undefined {
  if (status === 200 || status === 206) return undefined;
  if (status === 416 && emptyFile(headers)) return undefined;
  const values = { status };
  if (status === 404) return { id: 'not-found', grade: 'bad', values };
  if (status === 410) return { id: 'gone', grade: 'bad', values };
  if (status === 429 || status === 503) return { id: 'busy', grade: 'bad', values };
  if (status >= 400 && status < 500) return { id: 'denied', grade: 'bad', values };
  return { id: 'strange-status', grade: 'bad', values };
}

function emptyFile(headers: Headers): boolean {
  return parseContentRange(listField(headers, 'content-range'))?.total === 0;
}

interface RangeVerdict {
  readonly service: Service;
  readonly length: number | undefined;
  readonly findings: readonly Finding[];
}

function judgeRanges(seen: OriginSighting): RangeVerdict {
  const { status, headers } = seen.begin;
  try {
    if (status === 416) return verdict('passed-through', 0, 'empty-file', 'limited');
    if (contentCoding(headers) !== undefined) {
      const length = status === 200 ? judgeWholeAsSent(headers).length : undefined;
      return verdict(serviceOfWhole(seen, readContentLength(headers)), length, 'encoded', 'bad');
    }
    if (status === 200) {
      const length = readContentLength(headers);
      return verdict(serviceOfWhole(seen, length), length, 'ranges-ignored', 'limited');
    }
    const { total } = checkRangeAnswer(headers, seen.beginAsked);
    if (seen.bodyFault !== undefined) return broken(total, seen.bodyFault);
    if (total === undefined) {
      return verdict('passed-through', undefined, 'length-unknown', 'limited');
    }
    return judgeMiddle(seen, total);
  } catch (error) {
    return broken(undefined, codeOf(error));
  }
}

/** Tells what becomes of a file that comes whole. @param length of the answer's body */
function serviceOfWhole({ begin }: OriginSighting, length: number | undefined): Service {
  const { headers, requestedAt, arrivedAt } = begin;
  const freshness = readFreshness(headers, requestedAt, arrivedAt);
  const why = whyNotStreamed(headers, length, Number.POSITIVE_INFINITY, freshness);
  return why === undefined ? 'streamed' : 'passed-through';
}

/** Judges bytes from the middle: some servers behind proxies get only the first range right. */
function judgeMiddle(seen: OriginSighting, total: number): RangeVerdict {
  const { middle, middleAsked } = seen;
  const fine = verdict('chunks', total, 'ranges-right', 'good', { bytes: total });
  if (middle === undefined || middleAsked === undefined) return fine;
  if (middle.status === 200) return broken(total, 'range-ignored');
  if (middle.status !== 206) return broken(total, 'origin-error');
  // `judgeVersion` checks whether the version is the same.
  checkRangeAnswer(middle.headers, middleAsked);
  return fine;
}

function verdict(
  service: Service,
  length: number | undefined,
  id: FindingId,
  grade: Grade,
  values?: Finding['values'],
): RangeVerdict {
  return { service, length, findings: [{ id, grade, values }] };
}

function broken(length: number | undefined, code: ErrorCode): RangeVerdict {
  const id = code === 'wrong-encoding' ? 'encoded' : 'ranges-wrong';
  return verdict('none', length, id, 'bad', { code });
}

function codeOf(error: unknown): ErrorCode {
  return isMillraceError(error) ? error.code : 'malformed-response';
}

function judgeVersion(seen: OriginSighting): Finding[] {
  const validators = validatorsOf(seen.begin);
  if (!isStable(validators, seen)) return [{ id: 'version-unstable', grade: 'bad' }];
  const { etag, weakEtag, lastModified, lastModifiedIsStrong } = validators;
  if (etag !== undefined) return [{ id: 'etag-strong', grade: 'good', values: { etag } }];
  if (lastModifiedIsStrong === true) {
    const id = weakEtag === undefined ? 'date-only' : 'etag-weak';
    return [{ id, grade: 'limited', values: { etag: weakEtag ?? '' } }];
  }
  if (lastModified !== undefined) return [{ id: 'date-too-new', grade: 'limited' }];
  return [{ id: weakEtag === undefined ? 'version-none' : 'etag-weak-only', grade: 'bad' }];
}

/** Returns the validators of an answer; none if its header contradicts itself. */
function validatorsOf({ headers }: SeenAnswer): Validators {
  try {
    return readValidators(headers);
  } catch {
    return {};
  }
}

/** Returns true if all answers name the same version, or if the first one cannot pin a version. */
function isStable(first: Validators, { middle, again }: OriginSighting): boolean {
  const others = [middle, again?.status === 304 ? undefined : again];
  return others.every((answer) => {
    if (answer === undefined || answer.status !== 206) return true;
    return matchVersion(first, validatorsOf(answer)) === 'same' || !canPin(first);
  });
}

function judgeRevalidation({ again, conditionRefused }: OriginSighting): Finding[] {
  const findings: Finding[] = [];
  if (conditionRefused === true) findings.push({ id: 'own-version-refused', grade: 'limited' });
  if (again?.status === 304) findings.push({ id: 'revalidates', grade: 'good' });
  else if (again !== undefined) findings.push({ id: 'no-revalidation', grade: 'limited' });
  return findings;
}

function judgeType(headers: Headers): Finding[] {
  const type = listField(headers, 'content-type');
  if (type === undefined) return [{ id: 'type-missing', grade: 'limited' }];
  const values = { type };
  if (PAGE.test(type)) return [{ id: 'type-page', grade: 'limited', values }];
  return [{ id: 'type-known', grade: 'good', values }];
}

function judgeRedirects({ hops }: OriginSighting): Finding[] {
  if (hops.length === 0) return [];
  const values = { count: hops.length };
  const downgrade = hops.some(
    ({ from, to }) => from.startsWith('https:') && to.startsWith('http:'),
  );
  if (downgrade) return [{ id: 'redirect-downgrade', grade: 'limited', values }];
  return [{ id: 'redirects', grade: hops.length > 1 ? 'limited' : 'note', values }];
}

function judgeTransport({ url, begin, signed }: OriginSighting): Finding[] {
  const ms = Math.max(0, begin.arrivedAt - begin.requestedAt);
  return [
    ...(signed ? [{ id: 'signed-link', grade: 'limited' } as const] : []),
    url.startsWith('https:') ? { id: 'encrypted', grade: 'good' } : { id: 'plain', grade: 'note' },
    { id: 'first-byte', grade: 'note', values: { ms } },
  ];
}
