/** Makes the numbers of bytes in details of errors readable, which are written exactly. */

/** How numbers of bytes are written. */
export interface SizeWriter {
  /** Writes a size, rounded: `1.5 MiB`. */
  readonly size: (bytes: number) => string;
  /** Writes the exact number, with its unit: `1,572,864 bytes`. */
  readonly exact: (bytes: number) => string;
}

/** A number with at most 15 digits: such numbers are exact. */
const N = '\\b(\\d{1,15})';
/**
 * Forms of details with numbers of bytes, those with two numbers first: `1 of 2 bytes`,
 * `1 bytes instead of 2`, `1 bytes are needed, 2 are free`.
 */
const FORM = new RegExp(
  [
    `${N}( of | and | instead of | of the )(\\d{1,15}) bytes\\b`,
    `${N} bytes( instead of |, at most | are needed, |, [^,]{1,99} says )(\\d{1,15})\\b`,
    `${N} bytes\\b`,
  ].join('|'),
  'g',
);

/**
 * Returns a detail with its numbers of bytes as sizes: `12 MiB of 700 MiB` instead of
 * `12582912 of 734003200 bytes`. Two sizes that would look alike stay exact.
 *
 * @param detail English text of an error, as the engine writes it
 */
export function readableBytes(detail: string, { size, exact }: SizeWriter): string {
  return detail.replace(FORM, (_, a1, between1, b1, a2, between2, b2, only) => {
    if (only !== undefined) return size(Number(only));
    const [a, b] = [Number(a1 ?? a2), Number(b1 ?? b2)];
    const write = a !== b && size(a) === size(b) ? exact : size;
    return `${write(a)}${between1 ?? between2}${write(b)}`;
  });
}
