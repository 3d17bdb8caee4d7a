/** Lists of URLs in files, for `add -i`. */

import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MAX_QUEUE } from '@millrace/shared/download/queue/queue';
import type { CliContext } from '../console/context.ts';
import { UsageError } from '../text/option-values.ts';

const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Reads URLs, one per line; skips empty lines and lines that begin with "#".
 *
 * @param file "-" for standard input
 * @throws UsageError for a file that cannot be read, has no URLs, or more than the queue holds
 */
export async function readUrlList(
  file: string,
  { cwd, stdin }: Pick<CliContext, 'cwd' | 'stdin'>,
): Promise<string[]> {
  const text = await readList(file, { cwd, stdin });
  const urls = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (urls.length === 0) throw new UsageError(`${file} has no URLs`);
  if (urls.length > MAX_QUEUE) {
    throw new UsageError(`${file} has ${urls.length} URLs; the queue holds ${MAX_QUEUE} at most`);
  }
  return [...new Set(urls)];
}

/** Reads a text. @param file "-" for standard input @throws UsageError if it cannot be read */
export async function readList(
  file: string,
  { cwd, stdin }: Pick<CliContext, 'cwd' | 'stdin'>,
): Promise<string> {
  return file === '-' ? await readAll(stdin) : await readPath(resolve(cwd, file), file);
}

async function readPath(path: string, file: string): Promise<string> {
  try {
    if ((await stat(path)).size > MAX_BYTES) throw new UsageError(`${file} is too large`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(`${file} cannot be read`, { cause });
  }
}

async function readAll(stdin: CliContext['stdin']): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) throw new UsageError('standard input is too large');
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString();
}
