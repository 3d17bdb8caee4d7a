/** The command line as a program. */

import { EXIT } from '@millrace/shared/base/errors';
import { CommanderError } from 'commander';
import { stateFolder } from '../local/local-edge.ts';
import type { CliContext } from './console/context.ts';
import { buildProgram } from './program.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A second signal: end without waiting for anything.
    if (interrupted.signal.aborted) process.exit(EXIT.interrupted);
    interrupted.abort(new Error(signal));
  });
}
// The reader of our output may have closed it, as in `| head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? EXIT.ok);
  throw error;
});

const words = process.argv.slice(2);
const context: CliContext = {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  signal: interrupted.signal,
  cwd: process.cwd(),
  state: stateFolder(),
  exit(status) {
    process.exitCode = status;
  },
};

try {
  const program = await buildProgram(context, words);
  await program.parseAsync(words, { from: 'user' });
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has printed the error, with the nearest option.
  process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}
