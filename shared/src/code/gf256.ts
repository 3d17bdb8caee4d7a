/**
 * Arithmetic in GF(2^8), the field of 256 elements, with the polynomial 0x11d and the generator 2:
 * the field in which most Reed-Solomon codes for storage are computed. Sums are XOR.
 */

const POLYNOMIAL = 0x11d;

/** A matrix by its rows. */
export type Matrix = readonly Uint8Array[];

/** Powers of the generator, twice in a row: a sum of two logarithms needs no remainder. */
const POWERS = new Uint8Array(510);
/** Logarithms to the base of the generator; 0 has none. */
const LOGARITHMS = new Uint8Array(256);

for (let power = 0, value = 1; power < 255; power++) {
  POWERS[power] = value;
  POWERS[power + 255] = value;
  LOGARITHMS[value] = power;
  value <<= 1;
  if (value > 255) value ^= POLYNOMIAL;
}

/** Multiplies two elements. */
export function times(a: number, b: number): number {
  if (a === 0 || b === 0) return 0;
  return POWERS[(LOGARITHMS[a] as number) + (LOGARITHMS[b] as number)] as number;
}

/** Returns the inverse of an element. @param a not 0 */
export function inverse(a: number): number {
  return POWERS[255 - (LOGARITHMS[a] as number)] as number;
}

/** Raises an element to a power. @param power from 0; 0 to the power of 0 is 1 */
export function power(a: number, power: number): number {
  if (power === 0) return 1;
  return a === 0 ? 0 : (POWERS[((LOGARITHMS[a] as number) * power) % 255] as number);
}

/** Multiplies two matrices. @param a has as many columns as `b` has rows */
export function product(a: Matrix, b: Matrix): Uint8Array[] {
  const columns = b[0]?.length ?? 0;
  return a.map((row) => {
    const sums = new Uint8Array(columns);
    for (const [i, factor] of row.entries()) {
      const other = b[i] as Uint8Array;
      for (let j = 0; j < columns; j++) sums[j] = at(sums, j) ^ times(factor, at(other, j));
    }
    return sums;
  });
}

/**
 * Inverts a square matrix, by Gauss and Jordan.
 *
 * @throws RangeError if it has no inverse
 */
export function inverted(matrix: Matrix): Uint8Array[] {
  const size = matrix.length;
  const rows = matrix.map((row, i): Uint8Array => {
    const both = new Uint8Array(2 * size);
    both.set(row);
    both[size + i] = 1;
    return both;
  });
  for (let column = 0; column < size; column++) {
    const pivot = rows.findIndex((row, i) => i >= column && row[column] !== 0);
    if (pivot < 0) throw new RangeError('the matrix has no inverse');
    const row = rows[pivot] as Uint8Array;
    rows[pivot] = rows[column] as Uint8Array;
    rows[column] = row;
    const factor = inverse(at(row, column));
    for (const [i, value] of row.entries()) row[i] = times(value, factor);
    for (const other of rows) {
      const its = at(other, column);
      if (other === row || its === 0) continue;
      for (const [i, value] of row.entries()) other[i] = at(other, i) ^ times(value, its);
    }
  }
  return rows.map((row) => row.slice(size));
}

function at(row: Uint8Array, index: number): number {
  return row[index] as number;
}
