/** Message about a page's click: the only one that pages' scripts may send. */

import { z } from 'zod';

export const clickSchema = z.object({
  type: z.literal('click'),
  keys: z.array(z.enum(['alt', 'shift', 'ctrl'])).max(3),
});
