/**
 * How long the extension takes to decide whether a download is taken; its own program measures
 * that.
 */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../extension/bench/decision.ts', import.meta.url));

/** Measures. @returns the result as a Markdown table */
export async function decision(): Promise<string> {
  return (await promisify(execFile)(process.execPath, [PROGRAM])).stdout.trim();
}
