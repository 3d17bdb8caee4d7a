/** What a page's clicks are told of with: the only message that pages' scripts may send. */

import { z } from 'zod';

export const clickSchema = z.object({
  type: z.literal('click'),
  keys: z.array(z.enum(['alt', 'shift', 'ctrl'])).max(3),
});
