/** Transfer codings of answers (RFC 9112 7), in the forms that downloads accept unasked. */

export interface TransferCodings {
  /** True if chunks show where the body ends; otherwise the end of the connection does. */
  readonly isChunked: boolean;
  /** Compression of the body on the way; undefined: none. */
  readonly compression: 'gzip' | 'deflate' | undefined;
}

const COMPRESSIONS: ReadonlyMap<string, TransferCodings['compression']> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/**
 * Reads a Transfer-Encoding: at most one compression, and chunks around it. A proxy may have said
 * `chunked` once more than it is true: the body is then chunked once, as other clients read it.
 *
 * @returns undefined for other codings, and for an order that does not show where the body ends
 */
export function readTransferCodings(
  value: string | readonly string[] | undefined,
): TransferCodings | undefined {
  const named = [value ?? []].flat().join(',').toLowerCase().split(',');
  const codings = named.map((coding) => coding.trim()).filter((coding) => coding !== '');
  const chunkedAt = codings.indexOf('chunked');
  const isChunked = chunkedAt >= 0;
  const inner = isChunked ? codings.slice(0, chunkedAt) : codings;
  if (isChunked && codings.slice(chunkedAt).some((coding) => coding !== 'chunked'))
    return undefined;
  if (inner.length === 0) return isChunked ? { isChunked, compression: undefined } : undefined;
  const compression = COMPRESSIONS.get(inner[0] as string);
  if (inner.length > 1 || compression === undefined) return undefined;
  return { isChunked, compression };
}
