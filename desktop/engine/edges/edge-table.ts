/** Lists the edges of networks as they are seen from here: how far, how busy, whether they answer. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { getJson, measureRtt, NotAnEdge } from './edge-test.ts';

/**
 * `unhealthy`: it answers, but the edge that lists it sends no clients there; `silent`: it does not
 * answer from here.
 */
export type EdgeState = 'ready' | 'unhealthy' | 'silent';

export interface EdgeRow {
  readonly name: string;
  readonly url: string;
  /** Round trip from here, milliseconds; undefined if it does not answer. */
  readonly rttMs: Millis | undefined;
  /** Load in steps of eight transfers, as the edge that lists it knows it. */
  readonly load: number | undefined;
  /** Part of what it can take that is free, 0 to 1. */
  readonly room: number | undefined;
  readonly state: EdgeState;
}

/** A listed edge that has not been measured. */
type Listed = Pick<EdgeRow, 'name' | 'url' | 'load' | 'room'> & { readonly healthy: boolean };

/** Longest wait for one edge. */
const TIMEOUT_MS = 5000;
/** Edges measured at a time. */
const AT_A_TIME = 16;
/** Most edges that are measured: networks have up to two thousand. */
const MAX_ROWS = 500;

const listSchema = z.object({
  edges: z.array(
    z.object({
      name: z.string().max(255),
      url: z.url({ protocol: /^https?$/ }).max(2048),
      healthy: z.boolean(),
      load: z.number().min(0).optional(),
      room: z.number().min(0).max(1).optional(),
    }),
  ),
});
const statusSchema = z.object({
  name: z.string().max(255),
  draining: z.boolean(),
  load: z.number().min(0).optional(),
  room: z.number().min(0).max(1).optional(),
});

/**
 * Lists the edges of the network that an edge belongs to, and measures them.
 *
 * @param url address of the edge: scheme, host and port
 * @returns the edges that answer, nearest first, then the others
 * @throws MillraceError `origin-unreachable` if the edge does not answer; `malformed-response` if
 *   another program does; the signal's reason
 */
export async function networkOf(url: string, signal: AbortSignal): Promise<EdgeRow[]> {
  const { origin } = new URL(url);
  const listed = await list(origin, signal);
  const rows: EdgeRow[] = [];
  const waiting = listed.slice(0, MAX_ROWS);
  const work = async () => {
    for (let edge = waiting.shift(); edge !== undefined; edge = waiting.shift()) {
      rows.push(await measured(edge, signal));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  signal.throwIfAborted();
  return rows.sort((a, b) => order(a) - order(b) || (a.name < b.name ? -1 : 1));
}

/** Returns a number that sorts rows: edges without a round trip come last. */
function order({ rttMs }: EdgeRow): number {
  return rttMs ?? Number.MAX_VALUE;
}

async function list(origin: string, signal: AbortSignal): Promise<Listed[]> {
  const all = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const { value } = await getJson(new URL('/-/edges', origin), all);
    const read = tryRead(listSchema, value);
    if (!read.success) throw new NotAnEdge();
    const { edges } = read.data;
    if (edges.length > 0)
      return edges.map((edge) => ({ load: undefined, room: undefined, ...edge }));
    // It tells clients of no edge, not even of itself: it has no public URL.
    const status = tryRead(statusSchema, (await getJson(new URL('/-/status', origin), all)).value);
    if (!status.success) throw new NotAnEdge();
    const { name, draining, load, room } = status.data;
    return [{ name, url: origin, healthy: !draining, load, room }];
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof NotAnEdge) {
      throw new MillraceError('malformed-response', {
        code: 'not-an-edge-now',
        values: { url: origin },
      });
    }
    throw new MillraceError(
      'origin-unreachable',
      { code: 'no-edge-answers', values: { url: origin } },
      { cause },
    );
  }
}

async function measured({ healthy, ...edge }: Listed, signal: AbortSignal): Promise<EdgeRow> {
  const all = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const rttMs = await measureRtt(edge.url, all);
    return { ...edge, rttMs, state: healthy ? 'ready' : 'unhealthy' };
  } catch {
    return { ...edge, rttMs: undefined, state: 'silent' };
  }
}
