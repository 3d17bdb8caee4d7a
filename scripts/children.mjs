/**
 * Runs the processes of run.mjs, and ends them when run.mjs is told to end or npm has ended.
 *
 * npm passes SIGTERM and SIGINT to the shell that runs a script, and waits for that shell only. The
 * shell passes nothing on: SIGTERM ends the shell alone, and SIGINT ends nothing. So the scripts
 * that run for long begin with `exec`, by which run.mjs takes the place of the shell (on Windows it
 * means `exec.cmd`). Of other signals to npm run.mjs sees only that its parent is gone.
 */

import { spawn } from 'node:child_process';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Interval between looks at the parent process, ms. */
const PARENT_INTERVAL_MS = 250;

/** The parent at the start. The system gives a process whose parent has ended another parent. */
const parent = process.ppid;
/** Only npm's end is an end for us: a shell may exit and leave a program running on purpose. */
const isRunByNpm = process.env.npm_lifecycle_event !== undefined;

const running = new Set();
let isEnding = false;
let watch;

/**
 * Runs a process of the terminal; resolves with its exit status. Once run.mjs is ending, nothing
 * more is started.
 *
 * @param role `tool`: signals are passed on. `program`: it has a channel to this process, and ends
 *   in its own time when the channel closes. `reloading program`: as a program, but SIGHUP is
 *   passed on, since the program may only read its files again
 */
export function runChild(command, args, { role = 'tool', ...options } = {}) {
  if (isEnding) return Promise.resolve(1);
  const channel = role === 'tool' ? [] : ['ipc'];
  const stdio = ['inherit', 'inherit', 'inherit', ...channel];
  const child = spawn(command, args, { stdio, ...options });
  const one = { child, role };
  if (running.size === 0) begin();
  running.add(one);
  return new Promise((resolve, reject) => {
    const done = (settle, value) => {
      running.delete(one);
      if (running.size === 0) stop();
      settle(value);
    };
    child.once('error', (error) => done(reject, error));
    child.once('exit', (code, signal) => done(resolve, signal ? 1 : (code ?? 1)));
  });
}

function begin() {
  for (const signal of SIGNALS) process.on(signal, passOn);
  if (isRunByNpm) watch = setInterval(lookAtParent, PARENT_INTERVAL_MS);
}

function stop() {
  for (const signal of SIGNALS) process.off(signal, passOn);
  clearInterval(watch);
}

function lookAtParent() {
  if (process.ppid === parent) return;
  clearInterval(watch);
  passOn('SIGTERM');
}

function passOn(signal) {
  const again = isEnding;
  for (const { child, role } of running) {
    if (role === 'reloading program' && signal === 'SIGHUP') {
      child.kill(signal);
      continue;
    }
    isEnding = true;
    // A terminal sends Ctrl-C to the program as well. Passed on as a signal, it would count as a
    // second Ctrl-C, which ends a program at once. A closed channel counts as none.
    if (role === 'tool' || (again && signal === 'SIGTERM')) child.kill(signal);
    else if (child.connected) child.disconnect();
  }
}
