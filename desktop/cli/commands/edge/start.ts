/** `millrace edge start`: runs an edge in this process, with the edge's own options. */

import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { CliContext } from '../../console/context.ts';
import { OtherProgram } from '../../console/other-program.ts';

const EDGE = fileURLToPath(new URL('../../../../edge/src/main.ts', import.meta.url));

export function edgeStartCommand(context: CliContext): Command {
  return new OtherProgram('start', context, EDGE).description('run an edge here');
}
