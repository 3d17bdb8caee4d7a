/**
 * The one place that calls a schema. Zod alone does not suit values that a stranger or a file on
 * disk can shape: it throws a TypeError for some that it should refuse.
 */

import * as z from 'zod';

/**
 * Reads a value by a schema.
 *
 * @returns as `safeParse`; also a refusal if the schema's own checks throw. Zod (4.6) compares
 *   `length` or `size` before it looks at the type, and `{"length":{"toString":null}}` cannot be
 *   converted to a number. Endlessly nested values exceed the stack.
 * @throws errors of our own transformations, except TypeError and RangeError; none of zod
 */
export function tryRead<S extends z.ZodType>(
  schema: S,
  value: unknown,
): z.ZodSafeParseResult<z.output<S>> {
  try {
    return schema.safeParse(value);
  } catch (cause) {
    if (!(cause instanceof TypeError || cause instanceof RangeError)) throw cause;
    const message = 'Invalid input: a part of it is of another kind';
    const error = new z.ZodError([{ code: 'custom', path: [], message, input: value }]);
    return { success: false, error: error as z.ZodError<z.output<S>> };
  }
}

/**
 * Reads a list item by item: a bad item does not affect the others.
 *
 * @returns the items that could be read, in order, and the number of the others; a value that is
 *   not a list counts as one refused item
 */
export function readList<S extends z.ZodType>(
  item: S,
  value: unknown,
): { readonly items: z.output<S>[]; readonly refused: number } {
  if (!Array.isArray(value)) return { items: [], refused: 1 };
  const items: z.output<S>[] = [];
  for (const one of value) {
    const result = tryRead(item, one);
    if (result.success) items.push(result.data);
  }
  return { items, refused: value.length - items.length };
}

/** Reads a value for callers that expect a refusal as an error. @throws ZodError */
export function readOrThrow<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = tryRead(schema, value);
  if (result.success) return result.data;
  throw result.error;
}
