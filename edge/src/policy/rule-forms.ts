/** Forms of the rules about queries and about pages of other sites, as the rules file has them. */

import { CORS_ORIGIN, type CorsRule } from '@millrace/shared/http/answers/cors-rule';
import { type IgnoredQuery, PARAMETER_NAME } from '@millrace/shared/http/urls/ignored-query';
import * as z from 'zod';

/** Most parameters, origins or fields that one rule names. */
const MAX_NAMES = 50;

const names = z
  .array(z.string().regex(PARAMETER_NAME, 'is not the name of a parameter, such as utm_*'))
  .min(1)
  .max(MAX_NAMES);

/** Query parameters to ignore: `"all"`, a list of names, or `{"allBut": [names]}`. */
export const IGNORE_QUERY = z
  .union([z.literal('all'), names, z.strictObject({ allBut: names })], {
    error: 'must be "all", a list of names, or {"allBut": [names]}',
  })
  .transform((given): IgnoredQuery => (Array.isArray(given) ? { names: given } : given));

const field = z
  .string()
  .regex(/^[\w!#$%&'*+.^|~\x60-]{1,100}$/, 'is not the name of a field')
  .transform((name) => name.toLowerCase());
const fields = z.array(field).max(MAX_NAMES);

/** Pages of other sites that may read files. @param maxAge schema of a time */
export function corsForm(maxAge: z.ZodType<number>) {
  const origin = z.string().regex(CORS_ORIGIN, 'is not an origin such as https://example.com');
  return z
    .strictObject({
      origins: z.union([z.literal('*'), z.array(origin).min(1).max(MAX_NAMES)], {
        error: 'must be "*" or a list of origins such as https://example.com',
      }),
      exposeFields: fields.optional(),
      requestFields: fields.optional(),
      maxAge: maxAge.optional(),
    })
    .transform(
      ({ origins, ...rest }): CorsRule => ({
        ...rest,
        origins: origins === '*' ? '*' : origins.map((one) => one.toLowerCase()),
      }),
    );
}
