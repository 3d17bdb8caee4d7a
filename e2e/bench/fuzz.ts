/** `npm run bench -- fuzz`: the fuzz targets, in a process of their own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../fuzz/main.ts', import.meta.url));

/** Runs the fuzz targets. @returns the exit status: 0 if every property holds */
export async function fuzz(options: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [MAIN, ...options], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
