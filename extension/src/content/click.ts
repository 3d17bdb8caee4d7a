/** Message about a click in a page: the only message accepted from content scripts. */

import * as z from 'zod';

export const clickSchema = z.object({
  type: z.literal('click'),
  keys: z.array(z.enum(['alt', 'shift', 'ctrl'])).max(3),
});
