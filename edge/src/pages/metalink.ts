/** The Metalink of a file over the edges of this network (RFC 5854). */

import type { Digest } from '@millrace/shared/base/digest';
import { isMillraceError } from '@millrace/shared/base/errors';
import {
  emptyFile,
  LAST_PRIORITY,
  type Replica,
} from '@millrace/shared/download/metalink/description';
import { formatMetalink } from '@millrace/shared/download/metalink/metalink-write';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import type { OriginReport, OriginSighting } from '@millrace/shared/http/origin/origin-check';
import { formatPrefixedUrl } from '@millrace/shared/http/urls/prefixed-url';

export interface MetalinkFile {
  readonly name: string;
  readonly seen: OriginSighting;
  readonly report: OriginReport;
  /** Base URLs of edges, the best first. */
  readonly edges: readonly string[];
}

/** Makes the Metalink: edges first, in their order; the origin itself comes last. */
export function edgesMetalink({ name, seen, report, edges }: MetalinkFile): string {
  const replicas: Replica[] = edges.map((edge, i) => ({
    url: formatPrefixedUrl(edge, seen.url),
    priority: i + 1,
  }));
  replicas.push({ url: seen.url, priority: LAST_PRIORITY });
  const file = {
    ...emptyFile(name),
    size: report.length,
    digests: digestsOf(seen),
    replicas,
  };
  return formatMetalink({ files: [file], generator: 'Millrace', extra: [] });
}

/** Reads the origin's digests of the whole file; none if it contradicts itself. */
function digestsOf({ begin }: OriginSighting): Digest[] {
  try {
    return fileDigests(begin.headers, begin.status);
  } catch (error) {
    if (isMillraceError(error)) return [];
    throw error;
  }
}
