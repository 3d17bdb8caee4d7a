/** Objects of the daemon's contract that its document names, and the types made from them. */

import * as z from 'zod';
import type { Particulars } from '../../base/error-table/particulars.ts';

/** The named objects, by name. */
export const OBJECTS = new Map<string, z.ZodType>();

/**
 * Makes an object with a name in the document.
 *
 * @param description a sentence; members whose name is not enough have descriptions of their own
 */
export function named<S extends z.ZodRawShape>(id: string, description: string, shape: S) {
  return withName(id, z.strictObject(shape).describe(description));
}

/** Gives a schema a name in the document. */
export function withName<S extends z.ZodType>(id: string, schema: S): S {
  OBJECTS.set(id, schema);
  return schema;
}

/** A value type whose lists and members are all readonly. */
export type Read<T> = T extends readonly (infer U)[]
  ? readonly Read<U>[]
  : T extends object
    ? { readonly [K in keyof T]: Read<T[K]> }
    : T;

/** The type of a schema's values. */
export type Shape<S extends z.ZodType> = Read<z.output<S>>;

/** The detail of an error as data. */
export const particulars: z.ZodType<Particulars> = named(
  'Particulars',
  'What an error says of one occurrence, for texts in other languages than English.',
  {
    code: z.string().describe('A code of the table of details.'),
    values: z
      .record(z.string(), z.union([z.string(), z.number(), z.lazy(() => particulars)]))
      .optional()
      .describe('For the text; names that end in `Bytes` are of sizes.'),
  },
);

/** A number of bytes or of things. */
export const count = z.int().min(0);
export const rate = z.number().min(0).describe('Bytes per second.');
export const time = z.number().describe('Unix milliseconds.');
export const gid = z.string().describe('16 hexadecimal digits.');
export const digest = z.strictObject({
  algorithm: z.string().describe('Such as `sha256`.'),
  hex: z.string().describe('Lower-case hexadecimal.'),
});
