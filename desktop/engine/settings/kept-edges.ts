/** The list of edges that the user has set up: its stored form and its changes. */

import { MillraceError } from '@millrace/shared/base/errors';
import { MAX_EDGES } from '@millrace/shared/bridge/rpc/edge-api';
import * as z from 'zod';
import { edgeUrl } from './checks.ts';

const MAX_NAME_CHARS = 64;

export const edgeSchema = z.object({
  url: z.string(),
  name: z.string().max(MAX_NAME_CHARS),
  enabled: z.boolean(),
});

export type KeptEdge = Readonly<z.infer<typeof edgeSchema>>;

/**
 * Returns the address that identifies an edge: scheme, host and port.
 *
 * @param text with or without scheme
 * @throws MillraceError `bad-url`
 */
export function edgeAddress(text: string): string {
  const url = new URL(edgeUrl(text.trim()));
  if (url.username !== '' || url.password !== '') throw new MillraceError('credentials-in-url');
  return url.origin;
}

/**
 * Returns the list with one more edge.
 *
 * @throws MillraceError `bad-url`; `bad-option` if the edge is in the list, or the list is full
 */
export function withEdge(edges: readonly KeptEdge[], text: string, name = ''): KeptEdge[] {
  const url = edgeAddress(text);
  if (edges.some((edge) => edge.url === url)) {
    throw new MillraceError('bad-option', { code: 'edge-listed', values: { url } });
  }
  if (edges.length >= MAX_EDGES) {
    throw new MillraceError('bad-option', { code: 'edges-at-most', values: { most: MAX_EDGES } });
  }
  return [...edges, { url, name: name.trim().slice(0, MAX_NAME_CHARS), enabled: true }];
}

/**
 * Returns the list without an edge.
 *
 * @throws MillraceError `bad-option` if the edge is not in the list
 */
export function withoutEdge(edges: readonly KeptEdge[], text: string): KeptEdge[] {
  const { url } = find(edges, text);
  return edges.filter((edge) => edge.url !== url);
}

/**
 * Returns the list with a changed edge.
 *
 * @throws MillraceError `bad-option` if the edge is not in the list
 */
export function changedEdge(
  edges: readonly KeptEdge[],
  text: string,
  change: { readonly name?: string | undefined; readonly enabled?: boolean | undefined },
): KeptEdge[] {
  const { url } = find(edges, text);
  return edges.map((edge) => {
    if (edge.url !== url) return edge;
    const name = (change.name ?? edge.name).trim().slice(0, MAX_NAME_CHARS);
    return { url, name, enabled: change.enabled ?? edge.enabled };
  });
}

function find(edges: readonly KeptEdge[], text: string): KeptEdge {
  const url = edgeAddress(text);
  const found = edges.find((edge) => edge.url === url);
  if (found === undefined)
    throw new MillraceError('bad-option', { code: 'edge-not-listed', values: { url } });
  return found;
}
