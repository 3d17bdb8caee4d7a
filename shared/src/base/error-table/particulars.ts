/** Details of errors as data: a code of the table with values, which can be said in any language. */

import { DETAILS, type DetailCode } from './details.ts';
import { fill } from './fill.ts';

/** A value of a detail: a name, a number, or another detail that gives the reason. */
export type DetailValue = string | number | Particulars;

/** A detail as it is kept and sent; its code may be of another version. */
export interface Particulars {
  readonly code: string;
  readonly values?: Readonly<Record<string, DetailValue>> | undefined;
}

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;
type Known<Code extends DetailCode> = [NamesIn<(typeof DETAILS)[Code]>] extends [never]
  ? { readonly code: Code; readonly values?: undefined }
  : {
      readonly code: Code;
      readonly values: Readonly<Record<NamesIn<(typeof DETAILS)[Code]>, DetailValue>>;
    };

/** A detail of the table, with the values that its text has. */
export type Detail = { [Code in DetailCode]: Known<Code> }[DetailCode];

const CODES: ReadonlySet<string> = new Set(Object.keys(DETAILS));

/** Most reasons within reasons that are read: what another program sends may nest deeper. */
const MAX_DEPTH = 4;
/** Longest value that is read, in characters. */
const MAX_VALUE_CHARS = 4096;
/** Most values of a detail that is read. */
const MAX_VALUES = 8;

/** Returns true for codes of this table; other programs and other versions may send others. */
export function isDetailCode(code: unknown): code is DetailCode {
  return typeof code === 'string' && CODES.has(code);
}

/** Returns the English text of a detail; numbers of bytes are exact. */
export function detailText({ code, values = {} }: Particulars): string {
  return fillDetail(DETAILS[code as DetailCode], values, {
    size: (bytes) => `${bytes} bytes`,
    nested: detailText,
  });
}

/** Returns a detail together with its English text, as it is kept and sent. */
export function said(detail: Detail): { detail: string; particulars: Particulars } {
  return { detail: detailText(detail), particulars: detail };
}

/**
 * Fills in the text of a detail.
 *
 * @param size writes a number of bytes
 * @param nested says a reason within the detail
 */
export function fillDetail(
  text: string,
  values: Readonly<Record<string, DetailValue>>,
  { size, nested }: { size: (bytes: number) => string; nested: (inner: Particulars) => string },
): string {
  const written = Object.entries(values).map(([name, value]): [string, string | number] => {
    if (typeof value === 'object') return [name, nested(value)];
    return [name, typeof value === 'number' && name.endsWith('Bytes') ? size(value) : value];
  });
  return fill(text, Object.fromEntries(written));
}

/**
 * Reads a detail that another program has sent.
 *
 * @returns undefined if this version's table does not have its code, or a value of its text is missing
 */
export function readParticulars(given: unknown, depth = MAX_DEPTH): Particulars | undefined {
  const { code, values = {} } = Object(given) as { code?: unknown; values?: unknown };
  if (!isDetailCode(code)) return undefined;
  const read = new Map<string, DetailValue>();
  for (const [name, value] of Object.entries(Object(values)).slice(0, MAX_VALUES)) {
    const one = readValue(value, depth);
    if (one !== undefined) read.set(name, one);
  }
  const names = [...DETAILS[code].matchAll(/\{(\w+)\}/g)];
  if (!names.every(([, name]) => read.has(name as string))) return undefined;
  return { code, values: Object.fromEntries(read) };
}

function readValue(value: unknown, depth: number): DetailValue | undefined {
  if (typeof value === 'string') return value.slice(0, MAX_VALUE_CHARS);
  if (typeof value === 'number') return value;
  return depth > 0 ? readParticulars(value, depth - 1) : undefined;
}
