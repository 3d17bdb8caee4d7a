/** Measures how long the extension takes to decide about a download, in a program of its own. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../extension/bench/decision.ts', import.meta.url));

/** Runs the program. @returns its result as a Markdown table */
export async function decision(): Promise<string> {
  return (await promisify(execFile)(process.execPath, [PROGRAM])).stdout.trim();
}
