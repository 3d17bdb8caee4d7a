/**
 * Administers an edge over HTTP: finds its address and the token, sends requests, and reports the
 * edge's own errors.
 */

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MillraceError } from '@millrace/shared/base/errors';
import { problemError } from '@millrace/shared/http/answers/problem';
import type { Command } from 'commander';
import { EDGE_PORT } from '../../local/local-edge.ts';
import { urlValue } from '../text/option-values.ts';
import type { CliContext, CommonOptions } from './context.ts';

export interface EdgeOptions extends CommonOptions {
  readonly edge?: string;
  readonly tokenFile?: string;
}

/** Environment variable that may hold the token instead of a file. */
const TOKEN_VARIABLE = 'MILLRACE_EDGE_TOKEN';
const TIMEOUT_MS = 30_000;

/**
 * Returns the base URL of an edge: the one that is named, that of the environment, or the local one.
 *
 * @throws MillraceError `bad-option`
 */
export function edgeOrigin(named: string | undefined): string {
  const first = process.env.MILLRACE_EDGE?.split(',')[0]?.trim();
  const url = named ?? (first || undefined) ?? `http://127.0.0.1:${EDGE_PORT}`;
  if (!URL.canParse(url)) throw new MillraceError('bad-option', 'MILLRACE_EDGE is not a URL');
  return new URL(url).origin;
}

/**
 * Reads a token: from a file, if one is named, otherwise from the environment.
 *
 * @param variable of the environment that may hold the token
 * @throws MillraceError `bad-option` if the file cannot be read
 */
export async function readToken(
  { cwd }: CliContext,
  file: string | undefined,
  variable: string,
): Promise<string | undefined> {
  if (file === undefined) return process.env[variable]?.trim() || undefined;
  const path = resolve(cwd, file);
  try {
    return (await readFile(path, 'utf8')).trim() || undefined;
  } catch (cause) {
    throw new MillraceError('bad-option', `--token-file: ${path} cannot be read`, { cause });
  }
}

/** Adds the options by which commands find an edge. */
export function edgeOptions(command: Command): Command {
  return command
    .option(
      '--edge <url>',
      `edge to administer (environment: MILLRACE_EDGE; default: http://127.0.0.1:${EDGE_PORT})`,
      (text: string) => urlValue(text, ['http', 'https']),
    )
    .option(
      '--token-file <file>',
      `file with the edge's administration token (environment: ${TOKEN_VARIABLE}, the token itself)`,
    )
    .option('--json', 'print one JSON document');
}

export class EdgeLink {
  readonly url: string;
  readonly #token: string | undefined;
  readonly #signal: AbortSignal;

  private constructor(url: string, token: string | undefined, signal: AbortSignal) {
    this.url = url;
    this.#token = token;
    this.#signal = signal;
  }

  /** Finds the address and the token. @throws MillraceError `bad-option` if one is unreadable */
  static async open(context: CliContext, options: EdgeOptions): Promise<EdgeLink> {
    const token = await readToken(context, options.tokenFile, TOKEN_VARIABLE);
    return new EdgeLink(edgeOrigin(options.edge), token, context.signal);
  }

  /**
   * Sends a request, and returns the answer's document.
   *
   * @param path path after `/-/`
   * @throws MillraceError the edge's own error; `origin-unreachable` without an answer;
   * `malformed-response`, `interrupted`
   */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.#send(method, path, body);
    const text = await response.text().catch(() => '');
    const document = parseJson(text);
    if (response.ok && document !== undefined) return document as T;
    throw asError(this.url, response.status, document);
  }

  async #send(method: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(`${this.url}/-/${path}`, {
        method,
        headers: {
          ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // The token is for this edge only.
        redirect: 'error',
        signal: AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
    } catch (cause) {
      if (this.#signal.aborted) throw new MillraceError('interrupted');
      throw new MillraceError('origin-unreachable', `no edge answers at ${this.url}`, { cause });
    }
  }
}

function asError(url: string, status: number, document: unknown): MillraceError {
  const why = `${url} is not an edge, or an older one (${status})`;
  return problemError(document) ?? new MillraceError('malformed-response', why);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
