/**
 * Files that cannot be cut into chunks: no ranges, no length, no validator, or not to be cached.
 * The origin's answer passes through to the client in order and is kept nowhere.
 */

import type { ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_PASSED_FIELD_CHARS } from '@millrace/shared/base/limits';
import type { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import { varyNames } from '@millrace/shared/http/answers/freshness';
import { passedFields } from '@millrace/shared/http/answers/passed-fields';
import {
  checkIdentity,
  checkRangeAnswer,
  contentCoding,
  isWholePart,
  judgeWholeAsSent,
  readContentLength,
} from '@millrace/shared/http/answers/range-contract';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { type Headers, listField, singleField } from '@millrace/shared/http/fields/headers';
import { parseRange } from '@millrace/shared/http/fields/range-header';
import type { HttpResponse, Method } from '@millrace/shared/node/http-response';
import type { Admission } from '../admission/client-limits.ts';
import { answerError } from '../egress/answer-error.ts';

/**
 * Longest Accept that is passed on, characters. Only here it may choose among variants: no answer is
 * kept for other clients.
 */
const MAX_ACCEPT_CHARS = 1024;
/** Conditional fields go to the origin, which alone knows the file. */
const CONDITIONAL = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
];
/** Fields of the message itself, which a tunnel sends on as it comes. */
const OF_MESSAGE = ['content-range', 'accept-ranges', 'content-digest', 'age'];
/** Reason for a tunnel: the origin encodes the file although it is asked not to. */
export const ENCODED = 'encoded';
const PASSED_STATUSES: ReadonlySet<number> = new Set([200, 206, 304]);

/**
 * Returns the header fields of a tunnelled request. Range is defined for GET alone (RFC 9110 14.2).
 *
 * A Range is passed on only if the answer to it can be checked: one range with a first byte. Others
 * are answered with the whole file, which is always right.
 *
 * @param ranges false: the client's Range is not passed on
 */
export function tunnelRequestHeaders(
  method: Method,
  headers: Headers,
  ranges = true,
): Record<string, string> {
  const fields: Record<string, string> = {};
  const accept = listField(headers, 'accept');
  if (accept !== undefined && accept.length <= MAX_ACCEPT_CHARS) fields.accept = accept;
  for (const name of CONDITIONAL) {
    const value = listField(headers, name);
    if (value !== undefined) fields[name] = value;
  }
  const range = listField(headers, 'range');
  const checkable = ranges && method === 'GET' && tunnelRange(headers) !== undefined;
  if (checkable && range !== undefined) fields.range = range;
  else delete fields['if-range'];
  return fields;
}

/**
 * Returns true for a part of an encoded body, which no client gets: from the field alone nobody can
 * tell whether the bytes are a part of the encoded file, or the part was encoded by itself.
 */
export function isEncodedPart({
  status,
  headers,
}: Pick<HttpResponse, 'status' | 'headers'>): boolean {
  return status === 206 && contentCoding(headers) !== undefined;
}

/**
 * Returns true if a client's request is answered by the origin's answer to the edge, which had asked
 * for the beginning of the file, without conditions, and for no type.
 */
export function isAnsweredBy(
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  requestHeaders: Headers,
): boolean {
  // The whole file as a part: whoever wants another part, or has conditions, asks the origin.
  if (status === 206 && ['range', ...CONDITIONAL].some((name) => name in requestHeaders)) {
    return false;
  }
  const accept = listField(requestHeaders, 'accept') ?? '*/*';
  return accept === '*/*' || !varyNames(headers).some((name) => name === 'accept' || name === '*');
}

/** Returns true for a status of an answer with the file, or about the client's range or conditions. */
export function isOfFile(status: number): boolean {
  return PASSED_STATUSES.has(status) || status === 412 || status === 416;
}

/** The part of the origin's header that is passed to the client. */
export interface TunnelHead {
  readonly status: number;
  readonly headers: Record<string, string>;
}

/**
 * Checks a tunnelled answer and makes the head of the client's.
 *
 * @param pause of the URL, told when the origin is busy
 * @throws MillraceError if the answer must not be passed on
 */
export function tunnelHead(
  response: HttpResponse,
  requestHeaders: Headers,
  pause: OriginPause,
  now: number,
): TunnelHead {
  const { headers } = response;
  const status = isUnaskedWhole(response, requestHeaders) ? 200 : response.status;
  if (status === 412) throw new MillraceError('precondition-failed');
  if (status === 416) throw new MillraceError('range-not-satisfiable');
  if (!PASSED_STATUSES.has(status)) throw answerError(response, pause, now);
  if (status === 200) judgeWholeAsSent(headers);
  if (status === 206) {
    checkIdentity(headers);
    checkTunnelledRange(headers, requestHeaders);
  }
  // A part keeps its digests as well: it goes to the client as it is.
  const out = passedFields(headers, response.url.href, true);
  for (const name of OF_MESSAGE) {
    const value = listField(headers, name);
    if (value !== undefined && value.length <= MAX_PASSED_FIELD_CHARS) out[name] = value;
  }
  // The whole file has no range (RFC 9110 14.4): a client might take it for a part.
  if (status !== 206) delete out['content-range'];
  const coding = contentCoding(headers);
  if (coding !== undefined && status === 200) Object.assign(out, encodedFields(coding, out.etag));
  const length = readContentLength(headers);
  if (length !== undefined && status !== 304) out['content-length'] = String(length);
  return { status, headers: out };
}

/**
 * Returns the fields that mark a whole encoded body. With them no client asks for a range that it
 * would join to bytes of another coding: there are no ranges, and a weak tag is not for If-Range
 * (RFC 9110 13.1.5). nginx sends the same where it compresses.
 */
function encodedFields(coding: string, etag: string | undefined): Record<string, string> {
  const fields = { 'content-encoding': coding, 'accept-ranges': 'none' };
  return etag?.startsWith('"') === true ? { ...fields, etag: `W/${etag}` } : fields;
}

export interface TunnelOptions {
  /** The client's share, whose rate limits this body as well. */
  readonly admission: Pick<Admission, 'waitMs'>;
  /** Aborted when the client is gone, or must get no more: the origin's body is given up. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Counts bytes that pass. */
  readonly onBytes: (count: number) => void;
}

/**
 * Pipes the body to the client.
 *
 * A tunnel is for one client, which can leave at any time. So the least pace of `BodyPace`, which
 * holds for chunks for many clients, does not hold here: only silence ends an origin's body.
 * Server-sent events and growing logs may well be slower than that pace. Slow tunnels of one client
 * are bounded by its transfers and its share of origins and connections.
 *
 * @throws MillraceError when the origin breaks off; the signal's reason
 */
export async function pipeTunnel(
  response: HttpResponse,
  res: ServerResponse,
  { admission, signal, now, onBytes }: TunnelOptions,
): Promise<void> {
  let resume = () => {};
  let timer: NodeJS.Timeout | undefined;
  const goOn = () => {
    if (timer === undefined && !res.writableNeedDrain) resume();
  };
  let giveUp = () => {};
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => {
      response.discard();
      reject(signal.reason);
    };
  });
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  res.on('drain', goOn);
  const piped = response.pipe((chunk, again) => {
    if (signal.aborted) return false;
    resume = again;
    onBytes(chunk.length);
    const taken = res.write(chunk);
    const wait = admission.waitMs(now());
    if (wait === 0) return taken;
    timer = setTimeout(() => {
      timer = undefined;
      goOn();
    }, wait);
    return false;
  });
  try {
    await Promise.race([piped, aborted]);
  } finally {
    piped.catch(() => {}); // given up
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    res.off('drain', goOn);
  }
}

/** Returns true for a part that is the whole file, for a client that has asked for no part. */
function isUnaskedWhole({ status, headers }: HttpResponse, requestHeaders: Headers): boolean {
  return status === 206 && requestHeaders.range === undefined && isWholePart(headers);
}

function tunnelRange(headers: Headers): { from: number; to: number | undefined } | undefined {
  const specs = parseRange(listField(headers, 'range'));
  const [spec] = specs ?? [];
  return specs?.length === 1 && spec !== undefined && 'from' in spec ? spec : undefined;
}

function checkTunnelledRange(headers: Headers, requestHeaders: Headers): void {
  const asked = tunnelRange(requestHeaders);
  if (asked === undefined) throw new MillraceError('wrong-range', 'a 206 without a range request');
  const contentRange = parseContentRange(singleField(headers, 'content-range'));
  const end = (asked.to ?? Number.MAX_SAFE_INTEGER - 1) + 1;
  if (contentRange?.kind === 'range' && contentRange.total === undefined) {
    // The file's end is unknown: the client sees which bytes it gets, and the start is checked.
    const { range } = contentRange;
    if (range.start === asked.from && range.end <= end) return;
  }
  checkRangeAnswer(headers, { start: asked.from, end });
}
