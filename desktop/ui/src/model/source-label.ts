/** Names sources. */

import type { SourceView } from '@millrace/shared/bridge/rpc/detail-api';
import type { EdgeEntry } from '@millrace/shared/bridge/rpc/edge-api';

/**
 * Returns the name that the user has given an edge; for other sources the address, without scheme
 * and final slashes.
 */
export function sourceLabel(
  { label, kind }: Pick<SourceView, 'label' | 'kind'>,
  edges: readonly EdgeEntry[],
): string {
  const plain = (url: string) => url.replace(/\/+$/, '');
  const edge = kind === 'edge' && edges.find(({ url }) => plain(url) === plain(label));
  if (edge && edge.name !== '') return edge.name;
  return plain(label).replace(/^https?:\/\//, '');
}
