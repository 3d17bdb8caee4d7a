/**
 * Requests to an edge that a stranger has announced. They go to the address of the announcement and to no
 * other, whatever names lead to and wherever answers redirect: so nobody on the link can make this
 * machine ask another one.
 */

import type { LookupFunction } from 'node:net';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import type { HouseEdge } from '@millrace/shared/house/house-list';
import { HttpClient, type HttpStream } from '@millrace/shared/node/http-client';

/** Longest time for a round trip on the link. */
const TIMEOUT_MS = 3000;
/** Longest answer by which an edge identifies itself. */
const MAX_ANSWER_BYTES = 4096;
/** Round trips that are measured: the first ones also set the connection up. */
const ROUNDS = 3;

export interface PinnedOptions {
  /** Most connections at a time. */
  readonly connections: number;
  /** Longest time for the head of an answer, and for silence during its body. */
  readonly timeoutMs: Millis;
}

/** Returns a client whose connections lead to the edge's address, and to no other. */
export function pinnedClient(
  { address }: HouseEdge,
  { connections, timeoutMs }: PinnedOptions,
): HttpClient {
  const lookup: LookupFunction = (_name, options, callback) => {
    if (options.all === true) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  };
  const connectTimeoutMs = Math.min(timeoutMs, TIMEOUT_MS);
  const times = { timeoutMs, connectTimeoutMs, headTimeoutMs: timeoutMs };
  return new HttpClient({ connections, ...times, mends: true, lookup });
}

/**
 * Sends a GET whose body ends at once when its source is excluded: bytes that are under way then are as
 * doubtful as those that have come.
 *
 * @param excluded returns why the source is excluded; undefined: it is not
 */
export async function getWhile(
  excluded: () => MillraceError | undefined,
  client: HttpClient,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HttpStream> {
  const end = new AbortController();
  const stream = await client.get(url, headers, AbortSignal.any([signal, end.signal]));
  return {
    ...stream,
    pipe: (take, room) =>
      stream.pipe((piece, resume) => {
        const reason = excluded();
        if (reason === undefined) return take(piece, resume);
        end.abort(reason);
        return true;
      }, room),
  };
}

/** Holds a request to the edge's own origin. @throws MillraceError `source-refused` */
export function checkPinned(target: URL, { url }: HouseEdge): void {
  if (target.origin === new URL(url).origin) return;
  throw new MillraceError('source-refused', {
    code: 'leads-to',
    values: { url: String(url), host: target.host },
  });
}

/**
 * Asks an address whether it is an edge.
 *
 * @returns its round trip: the shortest of three
 * @throws MillraceError if no edge answers
 */
export async function identifyEdge(edge: HouseEdge, signal: AbortSignal): Promise<Millis> {
  const client = pinnedClient(edge, { connections: 1, timeoutMs: TIMEOUT_MS });
  const tooLong = new AbortController();
  const all = AbortSignal.any([signal, tooLong.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let rttMs: Millis = Infinity;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const response = await client.get(new URL('/-/live', edge.url), {}, all);
      const pieces: Buffer[] = [];
      let bytes = 0;
      await response.pipe((piece) => {
        bytes += piece.length;
        if (bytes > MAX_ANSWER_BYTES) tooLong.abort(new MillraceError('malformed-response'));
        else pieces.push(Buffer.from(piece));
        return true;
      });
      if (response.status !== 200 || !isEdge(Buffer.concat(pieces).toString())) {
        throw new MillraceError('malformed-response', {
          code: 'not-an-edge',
          values: { url: edge.url },
        });
      }
      rttMs = Math.min(rttMs, response.headMs);
    }
    return Math.round(rttMs * 10) / 10;
  } finally {
    client.close();
  }
}

function isEdge(text: string): boolean {
  try {
    const { live, server } = JSON.parse(text) as Record<string, unknown>;
    return live === true && server === 'millrace-edge';
  } catch {
    return false; // not JSON, or null
  }
}
