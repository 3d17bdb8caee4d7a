/** The command line as a program. */

import { EXIT } from '@millrace/shared/base/errors';
import { Command, CommanderError } from 'commander';
import { get } from './get.ts';
import { getCommand } from './get-options.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // Asked twice: do not wait for anything.
    if (interrupted.signal.aborted) process.exit(EXIT.interrupted);
    interrupted.abort(new Error(signal));
  });
}

const program = new Command('millrace')
  .description('Downloads large files fast, safely, and resumably')
  .version('0.1.0')
  .helpOption('-h, --help', 'print help')
  .exitOverride();
const getProgram = getCommand(async (urls, options) => {
  if (urls.length > 1 && options.output !== undefined) {
    getProgram.error("error: option '-o' names one file: use -d for several URLs");
  }
  process.exitCode = await get(urls, options, process, interrupted.signal);
}).exitOverride();
program.addCommand(getProgram);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has printed what is wrong, the nearest option included.
  process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}
