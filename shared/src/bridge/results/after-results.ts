/** Actions after downloads: their settings, and how far those of a download are. */

import * as z from 'zod';
import { AFTER_ACTIONS, AFTER_STATES } from '../../download/after/after.ts';
import { WHEN_DONE } from '../../download/after/when-done.ts';
import { count, named, particulars, time } from './named.ts';

export const afterChoice = named(
  'AfterChoice',
  'Actions after a download, in the order move, extract, run, open, webhook.',
  {
    move: z
      .string()
      .optional()
      .describe('Folder to move the file to: absolute, or relative to the download folder.'),
    extract: z
      .boolean()
      .optional()
      .describe('Extract an archive into a folder of its own beside it.'),
    run: z.string().optional().describe('Name of a command of the settings.'),
    open: z.boolean().optional().describe('Open the file with the system’s program for it.'),
    webhook: z.boolean().optional().describe('Tell the webhook of the settings.'),
  },
);

export const afterStep = named('AfterStep', 'An action after a download.', {
  action: z.enum(AFTER_ACTIONS),
  state: z
    .enum(AFTER_STATES)
    .describe(
      'skipped: an earlier one failed, or the file is none for it; interrupted: the daemon ended during it, and it is not repeated, as commands are not.',
    ),
  with: z.string().optional().describe('Folder of a move, name of a command.'),
  detail: z.string().optional().describe('Result, end of the output, or reason of a failure.'),
  particulars: particulars.optional(),
  error: z.string().optional().describe('Code of the error of a failed action.'),
  attempts: count.optional().describe('Attempts so far that failed or were interrupted.'),
  retryAt: time.optional().describe('When a webhook is sent again, Unix milliseconds.'),
});

const afterRule = named('AfterRule', 'Actions after all downloads of a category.', {
  category: z.string().optional().describe('Absent: of all downloads without a rule of their own.'),
  ...afterChoice.shape,
});

export const afterCommand = named('AfterCommand', 'A command that may run after downloads.', {
  name: z.string(),
  args: z
    .array(z.string())
    .describe(
      'Program and arguments, in which {path}, {name}, {folder}, {url} and {digest} are filled in.',
    ),
  seconds: count.describe('Longest time that it may run.'),
});

export const afterSettings = named('AfterSettings', 'What happens after downloads.', {
  rules: z.array(afterRule),
  commands: z.array(afterCommand),
  webhook: z
    .strictObject({ url: z.string() })
    .nullable()
    .describe('Without its secret; null: none is set up.'),
});

export const whenDone = named('WhenDone', 'What the machine does when all downloads are done.', {
  what: z.enum(WHEN_DONE).nullable().describe('null: nothing.'),
  at: time
    .optional()
    .describe('When it is done, Unix milliseconds; absent while downloads run or wait.'),
  problem: z.string().optional().describe('Why it could not be done the last time.'),
});
