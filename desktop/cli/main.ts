/** The command line as a program. */

import { mkdirSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stateFolder } from '../local/local-edge.ts';
import type { CliContext } from './console/context.ts';

const state = stateFolder();
keepCompiledCode(join(state, 'compile-cache'));
// Everything else is imported here, when the cache is in use.
const { EXIT, MillraceError } = await import('@millrace/shared/base/errors');
const { CommanderError } = await import('commander');
const { buildProgram } = await import('./program.ts');
const { REMOTE_VARIABLE, readRemote } = await import('./console/remote-option.ts');
const { UsageError } = await import('./text/option-values.ts');
const { boundYoungGeneration } = await import('@millrace/shared/node/memory/young-generation');
const endBound = boundYoungGeneration();

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const interrupted = new AbortController();
let signals = 0;
const interrupt = (signal: NodeJS.Signals) => {
  // A second signal: end without waiting for anything.
  if (++signals > 1) process.exit(EXIT.interrupted);
  interrupted.abort(new MillraceError('interrupted', signal));
};
for (const signal of SIGNALS) process.on(signal, interrupt);
// The launcher of `npm run millrace` passes signals on by closing its channel.
const launcherGone = () => interrupted.abort(new MillraceError('interrupted', 'SIGTERM'));
process.once('disconnect', launcherGone);
process.channel?.unref();
// The reader of our output may have closed it, as in `| head`.
const outputFailed = (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? EXIT.ok);
  throw error;
};
process.stdout.on('error', outputFailed);

const base: CliContext = {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  signal: interrupted.signal,
  cwd: process.cwd(),
  state,
  exit(status) {
    process.exitCode = status;
  },
  async become(file, args) {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    process.off('disconnect', launcherGone);
    process.stdout.off('error', outputFailed);
    endBound();
    // Processes that the program starts of itself, such as workers, run the same file.
    process.argv = [process.execPath, file, ...args];
    await import(pathToFileURL(file).href);
  },
};

try {
  const { words, remote } = readRemote(process.argv.slice(2), process.env[REMOTE_VARIABLE]);
  const context = { ...base, remote };
  const program = await buildProgram(context, words);
  await program.parseAsync(words, { from: 'user' });
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = EXIT.usage;
  } else if (!(error instanceof CommanderError)) throw error;
  // Commander has printed the error, with the nearest option.
  else process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

/**
 * Keeps compiled code between runs: two thirds of the start of a download would go into compiling.
 * The folder is the user's own, because its contents are executed. A program works without it.
 */
function keepCompiledCode(folder: string): void {
  // The caller's environment may have chosen a folder.
  if (getCompileCacheDir() !== undefined) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    enableCompileCache(folder);
  } catch {
    // The folder cannot be made; a command that needs it reports the error.
  }
}
