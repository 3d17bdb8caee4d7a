import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { MillraceError } from '../base/errors.ts';
import { readOrThrow, tryRead } from './read.ts';

const NO_NUMBER = JSON.parse('{"toString":null}') as unknown;

describe('a length that cannot be converted to a number', () => {
  const value = { length: NO_NUMBER };
  const schemas = {
    'a list with a bound': z.array(z.string()).max(3),
    'a text with a bound': z.string().max(3),
    'a list with a least length': z.array(z.string()).min(1),
    'a list of one length': z.array(z.string()).length(2),
    'one inside others': z.union([z.array(z.string()).max(3), z.string()]),
  };

  test.each(Object.entries(schemas))('is refused by %s', (_, schema) => {
    // Once zod refuses the value by itself, this module is no longer needed.
    expect(() => schema.safeParse(value)).toThrow(TypeError);
    const { success, error } = tryRead(schema as z.ZodType, value);
    expect(success).toBe(false);
    expect(error?.issues).toMatchObject([
      { path: [], message: expect.stringContaining('Invalid') },
    ]);
    expect(() => readOrThrow(schema as z.ZodType, value)).toThrow(z.ZodError);
  });
});

test('endlessly nested values are refused', () => {
  const tree: z.ZodType = z.lazy(() => z.array(tree));
  let deep: unknown = [];
  for (let i = 0; i < 100_000; i++) deep = [deep];
  expect(tryRead(tree, deep).success).toBe(false);
});

test('a fitting value is read, and any other is refused with the path of its fault', () => {
  const schema = z.object({ a: z.number().default(1) });
  expect(tryRead(schema, {})).toMatchObject({ success: true, data: { a: 1 } });
  expect(readOrThrow(schema, { a: 2 })).toEqual({ a: 2 });
  expect(tryRead(schema, { a: 'x' }).error?.issues[0]?.path).toEqual(['a']);
  expect(() => readOrThrow(schema, { a: 'x' })).toThrow(z.ZodError);
});

test('an error of our own is not mistaken for a refusal of the schema', () => {
  const schema = z.string().transform(() => {
    throw new MillraceError('bad-url', 'x');
  });
  expect(() => tryRead(schema, 'a')).toThrow(MillraceError);
});
