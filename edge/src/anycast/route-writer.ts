/** Tells a routing daemon about routes: writes its file, and runs the command that reads it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { chmod, open, rename, stat, writeFile } from 'node:fs/promises';
import type { Log } from '@millrace/shared/base/log';
import { routeFile } from '@millrace/shared/cdn/anycast/route-file';
import type { AnycastConfig } from '../config/reach-config.ts';

/** Time after which a command is killed: traffic must not wait for a daemon that hangs. */
const COMMAND_MS = 5000;
/** Output of a command that is kept for the log, characters. */
const KEPT_OUTPUT = 1000;

export class RouteWriter {
  readonly #config: AnycastConfig;
  readonly #log: Log;
  #turn: Promise<boolean> = Promise.resolve(true);

  constructor(config: AnycastConfig, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /**
   * Announces or withdraws the routes, after earlier calls.
   *
   * @returns whether the daemon has been told; a failure is in the log
   */
  write(announced: boolean): Promise<boolean> {
    this.#turn = this.#turn.then(() => this.#write(announced));
    return this.#turn;
  }

  async #write(announced: boolean): Promise<boolean> {
    const { file, format, routes, command } = this.#config;
    try {
      const text = routeFile(format, routes, announced);
      if (await isPipe(file)) await writePipe(file, text);
      else {
        // The daemon must never read half a file.
        await writeFile(`${file}.new`, text);
        // The daemon has another user, and an edge's files are for its own user alone.
        await chmod(`${file}.new`, 0o644);
        await rename(`${file}.new`, file);
      }
      if (command !== undefined) await run(command);
      return true;
    } catch (error) {
      this.#log.error({ err: error, file, announced }, 'the routing daemon cannot be told');
      return false;
    }
  }
}

async function isPipe(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFIFO() ?? false;
}

/** Writes into a named pipe. @throws Error if nobody reads it: opening would wait for ever */
async function writePipe(path: string, text: string): Promise<void> {
  const pipe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    await pipe.write(text);
  } finally {
    await pipe.close();
  }
}

/** Runs a command line. @throws Error with its output unless it ends with 0 in time */
async function run(command: string): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_OUTPUT);
    });
  }
  const killer = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS);
  try {
    const [code, signal] = await once(child, 'exit');
    if (code !== 0) throw new Error(`"${command}" ended with ${signal ?? code}: ${output.trim()}`);
  } finally {
    clearTimeout(killer);
  }
}
