/** The Prefer field (RFC 7240) as far as Millrace uses it. */

import { splitList } from './headers.ts';

/** True when the client takes chunks in any order: `Prefer: delivery=out-of-order`. */
export function prefersOutOfOrder(value: string | undefined): boolean {
  return preference(value, 'delivery') === 'out-of-order';
}

/** True when the client resumes elsewhere after a reset: `Prefer: resume-on-reset`. */
export function resumesOnReset(value: string | undefined): boolean {
  return preference(value, 'resume-on-reset') !== undefined;
}

/** The value of a preference in lower case, empty if it has none; undefined if it is absent. */
function preference(field: string | undefined, wanted: string): string | undefined {
  const found = splitList(field ?? '')
    .map((item) => (item.split(';')[0] as string).split('='))
    .find(([name]) => name?.trim().toLowerCase() === wanted); // the first one counts (RFC 7240 2)
  if (found === undefined) return undefined;
  return (found[1] ?? '')
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase();
}
