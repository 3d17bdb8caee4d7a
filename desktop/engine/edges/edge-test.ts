/** Tests an edge: whether it is one, its round-trip time, and which other edges it knows. */

import type { Millis } from '@millrace/shared/base/clock';
import type { EdgeNode, EdgeTest } from '@millrace/shared/bridge/rpc/edge-api';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';

const TIMEOUT_MS = 5000;
const ROUNDS = 3;
const MAX_BYTES = 256 * 1024;
const MAX_NODES = 100;

const liveSchema = z.object({ live: z.boolean(), server: z.literal('millrace-edge') });
const readySchema = z.object({ ready: z.boolean() });
const edgesSchema = z.object({
  edges: z.array(
    z.object({
      name: z.string().max(255),
      url: z.string().max(2048),
      healthy: z.boolean(),
      rttMs: z.number().nullish(),
    }),
  ),
});

/** Tests an edge; never rejects. @param url address of the edge: scheme, host and port */
export async function testEdge(url: string, signal: AbortSignal): Promise<EdgeTest> {
  const all = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const rttMs = await measureRtt(url, all);
    const ready = tryRead(readySchema, (await getJson(new URL('/-/ready', url), all)).value);
    const nodes = await nodesOf(url, all);
    const { origin } = new URL(url);
    const name = nodes.find((node) => URL.parse(node.url)?.origin === origin)?.name;
    return {
      url,
      ok: true,
      rttMs,
      name,
      draining: ready.success && !ready.data.ready,
      nodes,
    };
  } catch (error) {
    if (all.aborted) return failed(url, 'timeout');
    return failed(url, error instanceof NotAnEdge ? 'not-an-edge' : 'unreachable');
  }
}

/**
 * Measures the round trip to an edge, milliseconds: the shortest of three, to a tenth.
 *
 * @throws NotAnEdge if another program answers; the error of `fetch`
 */
export async function measureRtt(url: string, signal: AbortSignal): Promise<Millis> {
  let rttMs: Millis = Number.POSITIVE_INFINITY;
  // The first round also connects; the later ones measure the round-trip time.
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    const { value } = await getJson(new URL('/-/live', url), signal);
    rttMs = Math.min(rttMs, performance.now() - began);
    if (!tryRead(liveSchema, value).success) throw new NotAnEdge();
  }
  return Math.round(rttMs * 10) / 10;
}

async function nodesOf(url: string, signal: AbortSignal): Promise<EdgeNode[]> {
  const { value } = await getJson(new URL('/-/edges', url), signal);
  const list = tryRead(edgesSchema, value);
  if (!list.success) return [];
  return list.data.edges
    .slice(0, MAX_NODES)
    .map(({ rttMs, ...node }) => ({ ...node, rttMs: rttMs ?? undefined }));
}

export class NotAnEdge extends Error {}

/** Fetches JSON. @throws NotAnEdge if another program answers; the error of `fetch` */
export async function getJson(url: URL, signal: AbortSignal): Promise<{ value: unknown }> {
  // A server that redirects is not an edge, and might lead anywhere.
  const response = await fetch(url, { signal, redirect: 'manual' });
  const type = response.headers.get('content-type') ?? '';
  if (!type.includes('json') || response.body === null) {
    await response.body?.cancel();
    throw new NotAnEdge();
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) throw new NotAnEdge();
    pieces.push(piece);
  }
  try {
    return { value: JSON.parse(Buffer.concat(pieces).toString('utf8')) };
  } catch {
    throw new NotAnEdge();
  }
}

function failed(url: string, problem: EdgeTest['problem']): EdgeTest {
  return { url, ok: false, nodes: [], problem };
}
