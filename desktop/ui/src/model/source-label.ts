/** Names of sources. */

import type { SourceView } from '@millrace/shared/bridge/rpc/detail-api';
import type { EdgeEntry } from '@millrace/shared/bridge/rpc/edge-api';

/**
 * An edge by the name that the user has given it, otherwise by the telling parts of its address.
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
