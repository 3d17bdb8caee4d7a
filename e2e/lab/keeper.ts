/**
 * Removes everything that a laboratory has created, however its owner ends: the keeper is a process
 * that waits for the end of a pipe from the owner. If the keeper is killed as well, the next
 * laboratory cleans up.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOf } from '../fixtures/left-namespaces.mjs';

const NAMESPACES = '/run/netns';
/** Beginning of the names of all namespaces and folders of laboratories. */
const KIND = 'millrace-lab';

/** Environment variable of every program of a laboratory: the keeper's prefix. */
const MARK = 'LAB_OF_PROGRAM';

/**
 * Removes all namespaces whose names begin with $1, and the folder $2, when its input ends. Finds
 * programs that have just started by the mark, as they are not in their namespace yet.
 */
const KEEPER = `
trap '' INT TERM HUP
cat > /dev/null
ours() { for path in ${NAMESPACES}/"$1"-*; do [ -e "$path" ] && echo "\${path##*/}"; done; }
pids() {
  for name in $(ours "$1"); do ip netns pids "$name"; done
  grep -lzsx "${MARK}=$1" /proc/[0-9]*/environ | cut -d / -f 3
}
tries=0
while found=$(pids "$1") && [ -n "$found" ] && [ $tries -lt 50 ]; do
  kill -9 $found 2> /dev/null
  sleep 0.05
  tries=$((tries + 1))
done
for name in $(ours "$1"); do ip netns delete "$name"; done
rm -rf "$2"
`;

export class Keeper {
  /** Beginning of all names that the keeper removes. */
  readonly prefix: string;
  /** Folder that the keeper removes; its user creates it. */
  readonly folder: string;
  readonly #child: ChildProcess;

  /** Starts a keeper. @param number number of the owner's laboratory, from 0 */
  constructor(number: number) {
    this.prefix = `${KIND}-${process.pid}-${startOf(process.pid)}-${number}`;
    this.folder = folderOf(this.prefix);
    this.#child = keep(this.prefix, this.folder);
    // The owner need not wait for the keeper, which cleans up after the owner's end.
    this.#child.unref();
    (this.#child.stdin as Socket).unref();
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Environment of every program, by which the keeper finds it before it is in its namespace. */
  get mark(): Readonly<Record<string, string>> {
    return { [MARK]: this.prefix };
  }

  /** Removes everything. */
  async clear(): Promise<void> {
    await cleared(this.#child);
  }
}

/** Removes the leftovers of dead owners. @returns the number of laboratories removed */
export async function sweep(): Promise<number> {
  const dead = [...new Set(names().map((name) => name.split('-').slice(0, 5).join('-')))].filter(
    (prefix) => {
      const [, , pid, start] = prefix.split('-');
      return startOf(Number(pid)) !== start;
    },
  );
  await Promise.all(dead.map((prefix) => cleared(keep(prefix, folderOf(prefix)))));
  return dead.length;
}

function names(): string[] {
  const all = [NAMESPACES, tmpdir()].flatMap((folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return []; // no namespaces so far
    }
  });
  return all.filter((name) => name.startsWith(`${KIND}-`));
}

const folderOf = (prefix: string) => join(tmpdir(), `${prefix}-files`);

function keep(prefix: string, folder: string): ChildProcess {
  const args = ['-c', KEEPER, 'keeper', prefix, folder];
  // Runs in a process group of its own: signals to the owner's group must not end it.
  return spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
}

async function cleared(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const exit = once(keeper, 'exit');
  keeper.ref();
  keeper.stdin?.end();
  await exit;
}

/** Runs `ip` or `tc` with these lines, in a namespace. @throws Error with its output */
export function batch(
  program: 'ip' | 'tc',
  namespace: string | undefined,
  lines: readonly string[],
): void {
  const args = [...(namespace === undefined ? [] : ['-n', namespace]), '-batch', '-'];
  execFileSync(program, args, { input: lines.join('\n'), stdio: ['pipe', 'ignore', 'pipe'] });
}
