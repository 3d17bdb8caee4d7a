/** The Range request field for bytes (RFC 9110 14.1, 14.2). */

import { type ByteRange, RangeSet } from '../../base/byte-range.ts';
import { MAX_RANGE_FIELD_CHARS, MAX_RANGES } from '../../base/limits.ts';

/** Bytes `from` to `to` inclusive (undefined: to the end), or the last `suffix` bytes. */
export type RangeSpec =
  | { readonly from: number; readonly to: number | undefined }
  | { readonly suffix: number };

/**
 * Reads a Range field.
 *
 * @returns the requested ranges; undefined if the field is ignored because it is absent, malformed,
 *   of another unit or too long (the answer is then the whole file, which is always right)
 */
export function parseRange(value: string | undefined): RangeSpec[] | undefined {
  if (value === undefined) return undefined;
  const match = /^\s*bytes\s*=(.*)$/i.exec(value);
  if (!match) return undefined;
  if (value.length > MAX_RANGE_FIELD_CHARS) return undefined;
  const specs: RangeSpec[] = [];
  for (const raw of (match[1] as string).split(',')) {
    const item = raw.trim();
    if (item === '') continue; // empty list elements are legal (RFC 9110 5.6.1)
    const part = /^(\d*)-(\d*)$/.exec(item);
    if (!part || item === '-') return undefined;
    if (part[1] === '') {
      specs.push({ suffix: toPosition(part[2] as string) });
      continue;
    }
    const from = toPosition(part[1] as string);
    const to = part[2] === '' ? undefined : toPosition(part[2] as string);
    if (to !== undefined && to < from) return undefined;
    specs.push({ from, to });
  }
  return specs.length === 0 ? undefined : specs;
}

/**
 * Applies the requested ranges to a file of `length` bytes. Merges ranges that overlap or touch, so
 * that no client can have the same bytes sent many times, and otherwise keeps the requested order.
 *
 * @returns non-empty ranges inside the file; an empty list means 416; undefined if there are more
 *   than `MAX_RANGES`, and are ignored (RFC 9110 14.2): each costs more than its bytes
 */
export function resolveRanges(
  specs: readonly RangeSpec[],
  length: number,
): ByteRange[] | undefined {
  const asked: ByteRange[] = [];
  for (const spec of specs) {
    const range =
      'suffix' in spec
        ? { start: Math.max(0, length - spec.suffix), end: length }
        : { start: spec.from, end: Math.min(length, (spec.to ?? length) + 1) };
    if (range.start < range.end) asked.push(range);
  }
  const merged = new RangeSet(asked);
  if (merged.ranges.length > MAX_RANGES) return undefined;
  const firstAsked = (range: ByteRange) =>
    asked.findIndex((a) => a.start >= range.start && a.end <= range.end);
  return [...merged.ranges].sort((a, b) => firstAsked(a) - firstAsked(b));
}

/** Writes the Range field value for one non-empty range; an infinite end means the file's. */
export function formatRange(range: ByteRange): string {
  if (range.end === Number.POSITIVE_INFINITY) return `bytes=${range.start}-`;
  return `bytes=${range.start}-${range.end - 1}`;
}

function toPosition(digits: string): number {
  // A number beyond the safe integers is still valid: its position is past the end of any file.
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER - 1);
}
