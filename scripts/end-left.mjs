/**
 * Ends what a test run has left behind, once its input ends: so it does however the run has ended,
 * by a signal that nobody can catch as well. Servers and browsers of killed runs would else hold
 * their memory and ports for ever.
 *
 * Argument: the mark that all processes of the run carry in their environment, as `NAME=value`.
 * Programs that overwrite their environment, as nginx does, are found by their parent. Linux only:
 * elsewhere the environment of another process cannot be read without more.
 */

import { readdirSync, readFileSync } from 'node:fs';

const [mark] = process.argv.slice(2);
const ROUND_MS = 100;
/** Rounds after which a process that is still there cannot be ended. */
const MOST_ROUNDS = 50;

/** Ends them all. @returns how many there were */
function sweep() {
  const left = processes();
  for (const pid of left) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  return left.length;
}

/** The processes with the mark, and their descendants. */
function processes() {
  const parents = new Map();
  const found = new Set();
  for (const name of readdirSync('/proc').filter((text) => /^\d+$/.test(text))) {
    const pid = Number(name);
    try {
      // After the name, which may contain anything: state, parent.
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (state === 'Z') continue;
      parents.set(pid, Number(parent));
      if (readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark)) found.add(pid);
    } catch {
      // It has ended meanwhile, or is another user's.
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
