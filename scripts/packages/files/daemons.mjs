/**
 * Ends the daemons that run from this package, for an upgrade or a removal: a daemon loads parts of
 * its program when it needs them, and these parts are about to be replaced.
 *
 *   daemons.mjs end      end all of them: their downloads continue at their next start
 *   daemons.mjs restart  end all of them, and start each again, as its user and with its options
 *
 * Scripts of the package run it as root. Systems without /proc are left alone.
 */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const FOLDER = dirname(fileURLToPath(import.meta.url));
const NODE = join(FOLDER, 'node');
/** Longest wait for a daemon to write down what it has, ms; then it is killed, which loses little. */
const PATIENCE_MS = 20_000;
const POLL_MS = 50;

/** Reads a link of /proc. @returns an empty text if it cannot be read */
function linkOf(pid, name) {
  try {
    // A program that has been replaced has this word after its name.
    return readlinkSync(`/proc/${pid}/${name}`).replace(/ \(deleted\)$/, '');
  } catch {
    return '';
  }
}

function words(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

/** Returns true for the arguments of a daemon, however it was started. */
function isDaemon([, ...args]) {
  const at = args.findIndex((word) => word.startsWith(`${FOLDER}/`));
  if (at < 0) return false;
  if (args[at] === join(FOLDER, 'lib', 'daemon.mjs')) return true;
  // `millrace daemon --detach` waits for the daemon that it has started, and ends by itself.
  const [command, ...rest] = args.slice(at + 1);
  return (
    command === 'daemon' && !['stop', 'status'].includes(rest[0]) && !rest.includes('--detach')
  );
}

/** Lists the daemons of this package; those of containers have another root. */
function daemons() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    if (linkOf(pid, 'exe') !== NODE || linkOf(pid, 'root') !== '/') return [];
    const command = words(pid, 'cmdline');
    if (!isDaemon(command)) return [];
    try {
      const { uid, gid } = statSync(`/proc/${pid}`);
      const isUnit = readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes('/millrace.service');
      return [{ pid: Number(pid), command, env: words(pid, 'environ'), uid, gid, isUnit }];
    } catch {
      return []; // has ended meanwhile
    }
  });
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function end({ pid }) {
  const giveUpAt = Date.now() + PATIENCE_MS;
  try {
    process.kill(pid, 'SIGTERM');
    while (isRunning(pid) && Date.now() < giveUpAt) await pause(POLL_MS);
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  } catch {
    // The daemon has ended by itself.
  }
}

/** Returns the command that runs another one with the rights and environment of a daemon's user. */
const asUser = ({ env, uid, gid }) => [
  ...['setpriv', '--reuid', String(uid), '--regid', String(gid), '--init-groups'],
  ...['env', '-i', ...env],
];

function runAs(daemon, words) {
  const [program, ...args] = [...asUser(daemon), ...words];
  return spawnSync(program, args, { cwd: '/', stdio: 'ignore' });
}

/** Starts a daemon again with its user's rights alone, and its log where it was. */
function start(daemon) {
  const [, ...args] = daemon.command;
  const state = daemon.env.find((word) => word.startsWith('MILLRACE_STATE='))?.slice(15);
  const log = state === undefined ? '/dev/null' : join(state, 'daemon.log');
  // The user's shell opens the log, so that nobody can have root write to a file of another user.
  const shell = ['sh', '-c', 'log=$1; shift; exec setsid -f "$@" >>"$log" 2>&1 </dev/null'];
  runAs(daemon, [...shell, 'sh', log, NODE, ...args]);
}

/**
 * Has a user's systemd restart its unit, which it reads anew.
 *
 * @returns false if the daemon still runs: systemctl may do nothing and report success, in a chroot
 *   for one
 */
function restartUnit(daemon) {
  // As the user: root would need the system's bus to reach another user's systemd.
  const systemctl = (...words) => runAs(daemon, ['systemctl', '--user', ...words]);
  systemctl('daemon-reload');
  systemctl('try-restart', 'millrace.service');
  return !isRunning(daemon.pid);
}

const found = daemons();
if (process.argv[2] === 'end') await Promise.all(found.map(end));
if (process.argv[2] === 'restart') {
  const others = found.filter((daemon) => !daemon.isUnit || !restartUnit(daemon));
  await Promise.all(others.map(end));
  for (const daemon of others) start(daemon);
}
