/** The Prefer field (RFC 7240) as far as Millrace uses it. */

import { splitList } from './headers.ts';

/** True when the client takes chunks in any order: `Prefer: delivery=out-of-order`. */
export function prefersOutOfOrder(value: string | undefined): boolean {
  if (value === undefined) return false;
  const preference = splitList(value)
    .map((item) => (item.split(';')[0] as string).split('='))
    .find(([name]) => name?.trim().toLowerCase() === 'delivery'); // the first one counts (RFC 7240 2)
  return (
    preference?.[1]
      ?.trim()
      .replace(/^"(.*)"$/, '$1')
      .toLowerCase() === 'out-of-order'
  );
}
