/** Reads the preferences of the Prefer field (RFC 7240) that Millrace uses. */

import { splitList } from './headers.ts';

/** Returns true if the client accepts chunks in any order: `Prefer: delivery=out-of-order`. */
export function prefersOutOfOrder(value: string | undefined): boolean {
  return preference(value, 'delivery') === 'out-of-order';
}

/** Returns true if the client resumes elsewhere after a reset: `Prefer: resume-on-reset`. */
export function resumesOnReset(value: string | undefined): boolean {
  return preference(value, 'resume-on-reset') !== undefined;
}

/** Returns a preference's value in lower case, empty without a value; undefined if absent. */
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
