/** Parameters that methods of several subjects have in common. */

import * as z from 'zod';

export const gid = z
  .string()
  .regex(/^[0-9a-f]{1,16}$/)
  .describe('A download: its 16 hexadecimal digits, or enough of the first ones to be unique.');

export const gids = z.array(gid).max(20_000);

/** Most entries of a page. */
const MAX_PAGE = 1000;

/** Parameters that select a part of a list. */
export const page = {
  offset: z.number().int().min(0).default(0),
  limit: z.number().int().min(0).max(MAX_PAGE).default(100),
};

export const nothing = z.strictObject({});
