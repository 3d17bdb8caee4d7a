/** The process as commands see it, and the form of their output. */

import { asMillraceError, EXIT, type MillraceError } from '@millrace/shared/base/errors';
import { formatBytes } from '@millrace/shared/base/units';
import { readableBytes } from '@millrace/shared/text/readable-bytes';
import type { Command } from 'commander';
import { UsageError } from '../text/option-values.ts';
import { printable } from '../text/printable.ts';
import { type Style, styleFor } from '../text/style.ts';
import { typedAs } from '../text/typed-as.ts';

const exactBytes = (bytes: number) =>
  `${bytes.toLocaleString('en')} ${bytes === 1 ? 'byte' : 'bytes'}`;

/** Streams for output; tests pass their own. */
export interface Terminal {
  readonly stdout: NodeJS.WritableStream & {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly stderr: NodeJS.WritableStream;
}

export interface CliContext extends Terminal {
  readonly stdin: NodeJS.ReadableStream;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Folder that relative paths start from. */
  readonly cwd: string;
  /** State folder, which holds the daemon's address. */
  readonly state: string;
  /** Origin of the daemon on another machine that commands use; undefined: that of this machine. */
  readonly remote?: string | undefined;
  /** Sets the exit status; the process ends once everything is written. */
  exit(status: number): void;
  /**
   * Runs another program of ours in this process, which then handles signals and output itself.
   *
   * @param file path of the program
   */
  become(file: string, args: readonly string[]): Promise<void>;
}

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
}

/** Prints results and errors: for people, or as JSON for programs. */
export class Report {
  readonly json: boolean;
  readonly #out: Terminal;

  constructor(out: Terminal, json: boolean) {
    this.#out = out;
    this.json = json;
  }

  /** Width of a line, columns; undefined where the output is not a terminal. */
  get width(): number | undefined {
    return this.#out.stdout.isTTY === true ? this.#out.stdout.columns || 80 : undefined;
  }

  get style(): Style {
    return styleFor(this.#out.stdout);
  }

  /** Prints the result: one JSON document, or lines of text. */
  result(document: unknown, lines: () => readonly string[]): void {
    if (this.json) return this.object(document);
    for (const line of lines()) this.#out.stdout.write(`${line}\n`);
  }

  /** Prints one line of JSON. */
  object(value: unknown): void {
    this.#out.stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** Prints a note for people; programs get it on standard error as well. */
  note(text: string): void {
    this.#out.stderr.write(`${printable(text)}\n`);
  }

  /** Prints an error. @param about the URL of the error, without user name and password */
  error(error: MillraceError, about?: string): void {
    if (this.json) return this.object({ event: 'error', url: about, ...errorObject(error) });
    const interrupted = error.code === 'interrupted';
    const what = interrupted || about === undefined ? '' : `${about}: `;
    // The subject is not printed twice.
    const alone = interrupted || (about !== undefined && error.detail === about);
    const said = readableBytes(error.message, { size: formatBytes, exact: exactBytes });
    const message = alone ? error.row.title : said;
    this.#out.stderr.write(`${printable(what + message)}.\n${printable(typedAs(error.advice))}\n`);
  }
}

/** Returns an error in the form that programs get. */
export function errorObject(error: MillraceError): object {
  const { code, detail, message, advice, row } = error;
  const { retryable, exit } = row;
  return { code, message, detail, advice, retryable, exit };
}

/**
 * Makes an action for commander that prints errors and sets the exit status.
 *
 * @param run gets a report, the options, and then the arguments; returns the exit status, by
 * default 0
 */
export function action<O extends CommonOptions, A extends unknown[]>(
  context: CliContext,
  run: (report: Report, options: O, ...args: A) => Promise<number | undefined>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const options = command.opts<O>();
    const report = new Report(context, options.json === true);
    try {
      context.exit((await run(report, options, ...(given.slice(0, -2) as A))) ?? EXIT.ok);
    } catch (thrown) {
      if (thrown instanceof UsageError) {
        context.stderr.write(`error: ${printable(typedAs(thrown.message))}\n`);
        return context.exit(EXIT.usage);
      }
      const error = asMillraceError(thrown);
      report.error(error);
      context.exit(error.row.exit);
    }
  };
}
