/** A media player as a process. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { UsageError } from './option-values.ts';

export interface Player {
  readonly child: ChildProcess;
  /** Resolves when it has ended. @throws UsageError if it cannot be started */
  readonly ended: Promise<void>;
}

/** Starts a player; the terminal is its own. @param command program and arguments */
export function startPlayer([program = '', ...args]: readonly string[], url: string): Player {
  const child = spawn(program, [...args, url], { stdio: 'inherit' });
  const ended = once(child, 'exit').then(
    () => {},
    (cause: NodeJS.ErrnoException) => {
      throw new UsageError(`${program} cannot be started (${cause.code})`, { cause });
    },
  );
  return { child, ended };
}
