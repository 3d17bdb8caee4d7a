/**
 * Probes an origin for a publisher: three small requests, by the same way and under the same policy
 * as any file's. `origin-check` judges the answers.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import { type ErrorCode, isMillraceError } from '@millrace/shared/base/errors';
import { looksSigned } from '@millrace/shared/download/request/signed-url';
import { ifChanged, ifSame } from '@millrace/shared/http/fields/conditions';
import { parseContentRange } from '@millrace/shared/http/fields/content-range';
import { listField } from '@millrace/shared/http/fields/headers';
import { formatRange } from '@millrace/shared/http/fields/range-header';
import { readValidators, type Validators } from '@millrace/shared/http/fields/validators';
import type { Hop, OriginSighting, SeenAnswer } from '@millrace/shared/http/origin/origin-check';
import type { HttpResponse } from '@millrace/shared/node/http-response';
import type { OriginClient } from '../egress/origin-client.ts';

/** Bytes of each sample: enough to see that a body comes, too few to be of use to an attacker. */
const SAMPLE_BYTES = 64 * 1024;

export interface ProbeOptions {
  readonly client: Pick<OriginClient, 'open'>;
  /** Called with the numbers of body bytes that come from an origin. */
  readonly onOriginBytes: (count: number) => void;
}

/**
 * Asks an origin for the beginning and the middle of a file, and whether the file has changed.
 *
 * @param client key of the client that asks
 * @param onHop called with each redirect, even if the probe fails after it
 * @throws MillraceError if no answer comes; the signal's reason
 */
export async function probeOrigin(
  o: ProbeOptions,
  url: URL,
  client: string,
  signal: AbortSignal,
  onHop: (hop: Hop) => void,
): Promise<OriginSighting> {
  const hops: Hop[] = [];
  const ask = (from: URL, headers: Record<string, string>) =>
    o.client.open({
      url: from,
      scope: 'public',
      client,
      headers,
      signal,
      onRedirect: (hop) => {
        hops.push(hop);
        onHop(hop);
      },
    });
  const beginAsked: ByteRange = { start: 0, end: SAMPLE_BYTES };
  const first = await ask(url, { range: formatRange(beginAsked) });
  const followed = [...hops];
  const bodyFault = await readSample(first, o.onOriginBytes);
  const begin = seen(first);
  const base: OriginSighting = {
    url: url.href,
    hops: followed,
    begin,
    beginAsked,
    bodyFault,
    signed: looksSigned(url.href),
  };
  const total = parseContentRange(listField(begin.headers, 'content-range'))?.total;
  if (begin.status !== 206 || total === undefined) return base;
  const validators = safeValidators(begin);
  const middle = await askMiddle(total, validators, (headers) => ask(first.url, headers), o);
  const tag = validators.etag ?? validators.weakEtag;
  const condition = tag === undefined ? ifChanged(validators) : { 'if-none-match': tag };
  if (Object.keys(condition).length === 0) return { ...base, ...middle };
  const again = await ask(first.url, { range: formatRange({ start: 0, end: 1 }), ...condition });
  again.discard();
  return { ...base, ...middle, again: seen(again) };
}

/** Requests bytes from the middle, under the same condition as chunks. */
async function askMiddle(
  total: number,
  validators: Validators,
  ask: (headers: Record<string, string>) => Promise<HttpResponse>,
  o: ProbeOptions,
): Promise<Partial<OriginSighting>> {
  if (total < 2) return {};
  const start = Math.floor(total / 2);
  const middleAsked = { start, end: Math.min(total, start + SAMPLE_BYTES) };
  const range = formatRange(middleAsked);
  let answer = await ask({ range, ...ifSame(validators) });
  const conditionRefused = answer.status === 412;
  if (conditionRefused) {
    answer.discard();
    answer = await ask({ range });
  }
  const bodyFault = await readSample(answer, o.onOriginBytes);
  const found = { middle: seen(answer), middleAsked, conditionRefused };
  return bodyFault === undefined ? found : { ...found, bodyFault };
}

/**
 * Reads a body no longer than a sample, and gives up a longer one. @returns code of an error in it
 */
async function readSample(
  response: HttpResponse,
  onBytes: (count: number) => void,
): Promise<ErrorCode | undefined> {
  const range = parseContentRange(listField(response.headers, 'content-range'));
  const bytes = range?.kind === 'range' ? range.range.end - range.range.start : 0;
  if (response.status !== 206 || bytes === 0 || bytes > SAMPLE_BYTES) {
    response.discard();
    return undefined;
  }
  try {
    await response.readInto(Buffer.alloc(bytes), onBytes);
    return undefined;
  } catch (error) {
    if (isMillraceError(error)) return error.code;
    throw error;
  }
}

function seen({ status, headers, requestedAt, arrivedAt }: HttpResponse): SeenAnswer {
  return { status, headers, requestedAt, arrivedAt };
}

/** Reads the validators; none if the header contradicts itself, which the judgement reports. */
function safeValidators({ headers }: SeenAnswer): Validators {
  try {
    return readValidators(headers);
  } catch {
    return {};
  }
}
