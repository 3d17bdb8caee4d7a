/**
 * The one place that asks a schema. Zod itself is no use for what a stranger or a file on disk can
 * shape: it throws a TypeError where it should refuse.
 */

import { z } from 'zod';

/**
 * Reads a value by a schema.
 *
 * @returns as `safeParse`; a refusal also where the schema's own checks throw. Zod (4.6) compares the
 *   `length` or `size` of whatever has one, before it looks at the kind: of
 *   `{"length":{"toString":null}}` no number can be made. Values inside values without end exceed the
 *   stack.
 * @throws what a transformation of ours throws, and nothing that depends on zod
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
 * Reads a list of which one bad item costs no other.
 *
 * @returns what could be read, in order, and how much could not; a value that is no list counts as one
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

/** Reads a value for a caller that takes an error for a refusal. @throws ZodError */
export function readOrThrow<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = tryRead(schema, value);
  if (result.success) return result.data;
  throw result.error;
}
