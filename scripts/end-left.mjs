/**
 * Ends the processes that a test run left behind, once standard input ends. That happens however
 * the run ends, even by SIGKILL. Without this program, servers and browsers of killed runs would
 * hold their memory and ports for ever.
 *
 * Argument: the mark that all processes of the run have in their environment, as `NAME=value`.
 * Programs that overwrite their environment, such as nginx, are found by their parent. Linux only:
 * other systems have no simple way to read the environment of another process.
 */

import { readdirSync, readFileSync } from 'node:fs';

const [mark] = process.argv.slice(2);
const ROUND_MS = 100;
/** Most rounds: a process that is still there after them cannot be ended. */
const MOST_ROUNDS = 50;

/** Kills all processes of the run. @returns the number of processes found */
function sweep() {
  const left = processes();
  for (const pid of left) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended meanwhile.
    }
  }
  return left.length;
}

/** Returns the processes with the mark, and their descendants. */
function processes() {
  const parents = new Map();
  const found = new Set();
  for (const name of readdirSync('/proc').filter((text) => /^\d+$/.test(text))) {
    const pid = Number(name);
    try {
      // State and parent follow the name, which may contain any character.
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (state === 'Z') continue;
      parents.set(pid, Number(parent));
      if (readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark)) found.add(pid);
    } catch {
      // The process has ended meanwhile, or belongs to another user.
    }
  }
  const isOfRun = (pid, depth = 0) =>
    found.has(pid) || (depth < 100 && parents.has(pid) && isOfRun(parents.get(pid), depth + 1));
  return [...parents.keys()].filter((pid) => pid !== process.pid && isOfRun(pid));
}

function endAll(rounds = 0) {
  if (sweep() === 0 || rounds === MOST_ROUNDS) return;
  setTimeout(() => endAll(rounds + 1), ROUND_MS);
}

process.stdin.on('end', () => endAll()).resume();
