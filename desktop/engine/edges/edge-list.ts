/** Reads the list of a network's edges that each edge publishes (`/-/edges`). */

import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { hashText } from '@millrace/shared/cdn/routing/hrw';
import type { EdgeList } from './chunk-owners.ts';

const MIN_CHUNK_BYTES = 64 * 1024;
const MAX_CHUNK_BYTES = 16 * 1024 * 1024;
const MAX_EDGES = 1000;
const MAX_NAME_LENGTH = 255;
/** Name of the only routing scheme that is supported. */
const ROUTING = 'hrw-1';
/**
 * Reads an edge's description of its network.
 *
 * @param text JSON of `/-/edges`
 * @returns undefined if the list is malformed, or uses a routing scheme that is not supported
 */
export function parseEdgeList(text: string): EdgeList | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value.routing !== ROUTING || !Array.isArray(value.edges))
    return undefined;
  const { chunkBytes, edges } = value;
  const isChunkSize = isNumber(chunkBytes, MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
  if (!isChunkSize || !Number.isInteger(chunkBytes) || edges.length > MAX_EDGES) return undefined;
  const known: Edge[] = [];
  for (const edge of edges) {
    const read = readEdge(edge);
    if (read === undefined) return undefined;
    known.push(read);
  }
  return {
    chunkBytes,
    edges: known
      .filter(({ healthy }) => healthy)
      .map(({ name, url, weight, rttMs }) => ({ name, url, weight, rttMs, seed: hashText(name) })),
  };
}

interface Edge {
  readonly name: string;
  readonly url: string;
  readonly healthy: boolean;
  readonly weight: number;
  readonly rttMs: number | undefined;
}

/**
 * Reads one entry of the list by hand, because loading a validation library would take longer than
 * loading everything else.
 */
function readEdge(value: unknown): Edge | undefined {
  if (!isObject(value)) return undefined;
  const { name, url, healthy, weight = 1 } = value;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) return undefined;
  if (typeof url !== 'string' || url.length > MAX_URL_CHARS || !URL.canParse(url)) return undefined;
  if (!/^https?:$/.test(new URL(url).protocol) || typeof healthy !== 'boolean') return undefined;
  if (!isNumber(weight, Number.MIN_VALUE, Number.MAX_VALUE)) return undefined;
  // A list may hold anything here: it only helps to guess.
  const rttMs = isNumber(value.rttMs, 0, Number.MAX_VALUE) ? value.rttMs : undefined;
  return { name, url, healthy, weight, rttMs };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isNumber(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max;
}
