/** Programs and rights that measurements need, and whether this machine has them. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CHROMIUM } from '../../fixtures/pages/ui.ts';
import { electronProgram } from '../../fixtures/tools/electron-path.mjs';
import { labImpossible } from '../../lab/lab.ts';

/** A program on the PATH, or a condition of `CONDITIONS`. */
export type Need = Condition | Program;
type Program = 'nginx' | 'varnishd' | 'aria2c' | 'h2load' | 'curl' | 'bird' | 'git';
type Condition = keyof typeof CONDITIONS;

/** Debian packages of programs that are named differently. */
const PACKAGES: Readonly<Partial<Record<Program, string>>> = {
  varnishd: 'varnish',
  aria2c: 'aria2',
  h2load: 'nghttp2-client',
  bird: 'bird2',
};

const CONDITIONS = {
  linux: () => (process.platform === 'linux' ? undefined : 'it reads /proc, which only Linux has'),
  laboratory: labImpossible,
  chromium: () =>
    existsSync(CHROMIUM) ? undefined : `${CHROMIUM} is missing (MILLRACE_CHROMIUM names another)`,
  electron: () => {
    if (electronProgram() === undefined) return 'Electron is not installed';
    return hasProgram('Xvfb') ? undefined : 'Xvfb is not installed (Debian: xvfb)';
  },
} as const satisfies Record<string, () => string | undefined>;

/** Returns the reason why a need is not met on this machine; undefined if it is. */
export function lacking(need: Need): string | undefined {
  if (need in CONDITIONS) return CONDITIONS[need as Condition]();
  const program = need as Program;
  if (hasProgram(program)) return undefined;
  return `${program} is not installed (Debian: ${PACKAGES[program] ?? program})`;
}

/** Looks for a program, also where only root's PATH leads. */
function hasProgram(name: string): boolean {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  return spawnSync('sh', ['-c', 'command -v "$0"', name], { env }).status === 0;
}
