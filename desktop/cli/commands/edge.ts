/** `millrace edge`: what publishers and operators do with edges. */

import { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { edgeSignCommand } from './edge-sign.ts';

export function edgeCommand(context: CliContext): Command {
  return new Command('edge')
    .description('sign links for edges')
    .addCommand(edgeSignCommand(context));
}
