/** Methods for what happens after downloads. */

import * as z from 'zod';
import { MAX_RULES } from '../../download/after/after.ts';
import {
  DEFAULT_SECONDS,
  MAX_ARG_CHARS,
  MAX_ARGS,
  MAX_COMMANDS,
  MAX_SECONDS,
} from '../../download/after/command.ts';
import { WHEN_DONE } from '../../download/after/when-done.ts';
import { afterSettings, whenDone } from '../results/after-results.ts';
import { nothing } from './params.ts';
import type { Rows } from './row.ts';

const withoutNul = (text: string) => !text.includes('\0');
const name = z.string().trim().min(1).max(64);

/** Actions as callers give them. */
export const afterChoiceSchema = z.strictObject({
  move: z.string().min(1).max(4096).refine(withoutNul, 'must not have NUL in it').optional(),
  extract: z.boolean().optional(),
  run: name.optional(),
  open: z.boolean().optional(),
  webhook: z.boolean().optional(),
});

export const afterParts = {
  rules: z.array(afterChoiceSchema.extend({ category: name.optional() })).max(MAX_RULES),
  commands: z
    .array(
      z.strictObject({
        name,
        args: z
          .array(z.string().max(MAX_ARG_CHARS).refine(withoutNul, 'must not have NUL in it'))
          .min(1)
          .max(MAX_ARGS)
          .refine(([program]) => program !== '', 'names no program'),
        seconds: z.number().int().min(1).max(MAX_SECONDS).default(DEFAULT_SECONDS),
      }),
    )
    .max(MAX_COMMANDS),
  webhook: z.strictObject({
    url: z.string().min(1).max(2048),
    secret: z.string().max(256),
  }),
};

export const AFTER_ROWS = {
  'millrace.getAfter': {
    summary: 'Shows what happens after downloads.',
    params: nothing,
    result: afterSettings,
  },
  'millrace.setAfter': {
    summary:
      'Changes what happens after downloads; lists are replaced as a whole. Only on the daemon’s own machine.',
    params: z.strictObject({
      rules: afterParts.rules.optional(),
      commands: afterParts.commands.optional().describe('Commands that choices may name.'),
      webhook: afterParts.webhook
        .partial({ secret: true })
        .nullable()
        .optional()
        .describe('null: none. Without a secret, that of before stays, if the URL does.'),
    }),
    result: afterSettings,
  },
  'millrace.whenDone': {
    summary:
      'Shows or sets what the machine does when all downloads are done; forgotten when the daemon ends.',
    params: z.strictObject({
      what: z.enum(WHEN_DONE).nullable().optional().describe('null: nothing. Absent: only show.'),
    }),
    result: whenDone,
  },
} as const satisfies Rows;
