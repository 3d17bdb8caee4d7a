/** Facts about the machine and the programs on it, for the page. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, release, totalmem, version } from 'node:os';

export type Facts = readonly (readonly [what: string, value: string])[];

/** Programs whose versions figures depend on, with the option that prints it. */
const PROGRAMS: readonly (readonly [program: string, option: string])[] = [
  ['nginx', '-v'],
  ['varnishd', '-V'],
  ['aria2c', '--version'],
  ['curl', '--version'],
  ['h2load', '--version'],
  ['zsync', '-V'],
  ['rsync', '--version'],
  ['bird', '--version'],
  ['chromium', '--version'],
];
const GiB = 2 ** 30;
/** Longest time for a program to print its version. */
const TIMEOUT_MS = 10_000;

/** Collects the facts. @param root folder of the repository @param now time of the run */
export function machineFacts(root: string, now: Date): Facts {
  const models = [...new Set(cpus().map(({ model }) => model.trim()))];
  return [
    ['date', now.toISOString().replace(/\.\d+Z$/, 'Z')],
    ['commit', commit(root)],
    ['processor', models.join(', ') || 'unknown'],
    ['cores', `${availableParallelism()}, ${arch()}`],
    ['memory', `${(totalmem() / GiB).toFixed(1)} GiB`],
    ['system', `${system()}, kernel ${release()}`],
    ['Node', process.version],
    ...PROGRAMS.map(([program, option]) => [program, versionOf(program, option)] as const),
  ];
}

/** Returns the load averages of the last 1 and 5 minutes. */
export function load(): string {
  return loadavg()
    .slice(0, 2)
    .map((value) => value.toFixed(1))
    .join(', ');
}

function commit(root: string): string {
  const git = (...args: string[]) =>
    spawnSync('git', ['-C', root, ...args], { encoding: 'utf8', timeout: TIMEOUT_MS });
  const head = git('rev-parse', 'HEAD');
  if (head.status !== 0) return 'unknown: git knows no commit here';
  const changed = git('status', '--porcelain').stdout.trim() !== '';
  return head.stdout.trim() + (changed ? ', with changes that are not committed' : '');
}

function system(): string {
  try {
    const file = readFileSync('/etc/os-release', 'utf8');
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(file)?.[1] ?? version();
  } catch {
    return version();
  }
}

/** Returns the first line with a number that a program prints about itself. */
function versionOf(program: string, option: string): string {
  const { status, error, stdout, stderr } = spawnSync(program, [option], {
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
  });
  if (status !== 0 && error !== undefined) return 'not installed';
  const line = `${stdout}\n${stderr}`.split('\n').find((text) => /\d/.test(text));
  return line?.trim().slice(0, 80) ?? 'unknown';
}
