/**
 * `npm start` opens the app, and starts an edge on this machine for its user.
 * `npm start -- get URL` downloads through such an edge, and starts one if none runs.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { VERSION } from '@millrace/shared/base/version';
import {
  EDGE_PORT,
  isEdge,
  registerLocalEdge,
  tokenFile,
  unregisterLocalEdge,
} from '../../local/local-edge.ts';
import { type App, openApp, openPage, startDaemonAgain } from './start-app.ts';
import { Supervised } from './supervised.ts';

const EDGE = fileURLToPath(new URL('../../../edge/src/main.ts', import.meta.url));
/** Port of the edge, from the edge's own variable, so that both sides mean the same port. */
const PORT = Number(process.env.MILLRACE_EDGE_PORT ?? EDGE_PORT);
/**
 * Further origins that the user lists, such as a server in the user's own network; the variable is
 * the edge's own.
 */
const LISTED = process.env.MILLRACE_EDGE_ALLOW_ORIGIN;
/** A window that fails within this time, ms, has never opened. */
const FAILS_WITHIN_MS = 10_000;
const EDGE_URL = `http://127.0.0.1:${PORT}`;

const USAGE = `
  npm start                       the app, with an edge on this machine
  npm start -- get URL [-o FILE]  a download through it
  npm start -- get --help         the options of a download
  npm run edge -- --help          an edge with its own options
  npm run millrace -- --help      the command line
`.slice(1);

const [command, ...args] = process.argv.slice(2);
if (command === undefined) process.exitCode = await serve();
else if (command === 'get') process.exitCode = await getThroughEdge(args);
else if (['-h', '--help', 'help'].includes(command)) process.stdout.write(USAGE);
else if (['-V', '--version'].includes(command)) process.stdout.write(`${VERSION}\n`);
else {
  process.stderr.write(`"${command}" is not known here. Use:\n${USAGE}`);
  process.exitCode = 2;
}

async function serve(): Promise<number> {
  let edge: Supervised | undefined;
  let app: Shown | undefined;
  let stopped = false;
  const stop = () => {
    stopped = true;
    app?.stop();
    edge?.stop();
  };
  // Before anything is printed: whoever reads an address may send a signal at once.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  // run.mjs passes signals on by closing its channel.
  process.once('disconnect', stop);
  process.channel?.unref();
  if (await running()) process.stdout.write(`An edge is running already.\n${whatToTry(EDGE_URL)}`);
  else {
    const { child, url } = await startEdge(PORT);
    if (url === undefined) return child.exitCode ?? 1;
    edge = new Supervised({
      name: 'The edge',
      first: child,
      again: async () => {
        const started = await startEdge(Number(new URL(url).port));
        return started.url === undefined ? undefined : started.child;
      },
      back: 'The edge runs again.',
      say,
    });
    // The stop may have come while the edge was starting.
    if (stopped) edge.stop();
    else process.stdout.write(`A Millrace edge runs at ${url}\n${whatToTry(url)}`);
  }
  if (stopped) return (await edge?.ended) ?? 0;
  const show = (opened: App) => {
    app = shown(opened);
    // The stop may have come while the app was opening.
    if (stopped) app.stop();
    process.stdout.write(aboutApp(opened));
    return endTogether(opened, app, edge);
  };
  const openedAt = performance.now();
  const first = await openApp();
  const status = await show(first);
  // Failed at once: Electron is there, but a library is missing, or there is no screen after all.
  const failed = status !== 0 && performance.now() - openedAt < FAILS_WITHIN_MS;
  if (first.kind === 'page' || stopped || !failed) {
    edge?.stop();
    return status;
  }
  return show(await openPage('Electron cannot run here'));
}

/** Waits until the window is closed for good or a signal stops everything. @returns exit status */
async function endTogether(
  { kind, child }: App,
  app: Shown,
  edge: Supervised | undefined,
): Promise<number> {
  if (child === undefined && edge === undefined) return 0;
  process.stdout.write('Stop it with Ctrl-C.\n');
  const status = await app.ended;
  if (kind === 'window' && status !== 0) return status;
  if (kind === 'window') edge?.stop();
  return (await edge?.ended) ?? status;
}

/** The process of the app that was started here. */
type Shown = Pick<Supervised, 'ended' | 'stop'>;

/**
 * Returns the app's process. A window looks after its daemon itself; a page's daemon is supervised
 * here.
 */
function shown(app: App): Shown {
  const { child } = app;
  if (child === undefined) return { ended: Promise.resolve(0), stop: () => {} };
  if (app.kind === 'window') return { ended: ended(child), stop: () => child.kill('SIGTERM') };
  return new Supervised({
    name: 'The daemon, which downloads,',
    first: child,
    again: (attempt) => startDaemonAgain(app, attempt),
    back: 'The daemon runs again, and its downloads continue.',
    say,
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function aboutApp(app: App): string {
  if (app.kind === 'window') return 'The app is open; its icon is in the tray.\n';
  return (
    `The app is a page in your browser, as ${app.reason}:\n\n  ${app.url}\n\n` +
    'This address works once, within a minute; "npm run millrace -- open" prints another.\n'
  );
}

async function getThroughEdge(getArgs: string[]): Promise<number> {
  // These words ask for no download, so that no edge is needed.
  const asks = ['-h', '--help', '-V', '--version'];
  if (getArgs.some((word) => asks.includes(word))) return runCli(['get', ...getArgs]);
  if (await running()) return runCli(['get', '--edge', EDGE_URL, ...getArgs]);
  // Any port will do where another program has the usual one: the edge is for this download only.
  let edge = await startEdge(PORT, 'ignore');
  if (edge.url === undefined) edge = await startEdge(0);
  if (edge.url === undefined) return 1;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => edge.child.kill('SIGTERM'));
  }
  // A second Ctrl-C ends this process at once.
  process.once('exit', () => edge.child.kill('SIGTERM'));
  try {
    return await runCli(['get', '--edge', edge.url, ...getArgs]);
  } finally {
    edge.child.kill('SIGTERM');
    await ended(edge.child);
  }
}

/** Returns true if an edge answers at the usual port; port 0 is never usual. */
async function running(): Promise<boolean> {
  return PORT !== 0 && isEdge(EDGE_URL);
}

/** Starts an edge for this user; returns no URL if the edge cannot listen. */
async function startEdge(
  port: number,
  stderr: 'inherit' | 'ignore' = 'inherit',
): Promise<{ child: ChildProcess; url: string | undefined }> {
  const options = {
    port: String(port),
    'allow-origin': '*',
    'local-token-file': tokenFile(),
    'log-level': 'warn',
  };
  // Flags win over the environment: its origins would be ignored unless repeated as flags.
  const listed = (LISTED ?? '').split(',').flatMap((origin) => origin.trim() || []);
  const flags = [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ...listed.flatMap((origin) => ['--allow-origin', origin]),
  ];
  const child = spawn(process.execPath, [EDGE, ...flags], {
    // By the channel the edge notices the end of this process, however it comes.
    stdio: ['ignore', 'pipe', stderr, 'ipc'],
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const listening = once(lines, 'line').then(([line]) => / on (http:\S+)$/.exec(line)?.[1]);
  const url = await Promise.race([listening, ended(child).then(() => undefined)]);
  if (url !== undefined && child.pid !== undefined) {
    const pid = child.pid;
    await registerLocalEdge({ url, pid });
    child.once('exit', () => void unregisterLocalEdge(pid));
  }
  return { child, url };
}

/**
 * Runs the command line in this process, not in a child. Ctrl-C reaches all processes of a group;
 * if this process passed it on as well, the child would take that for a second Ctrl-C.
 */
async function runCli(cliArgs: string[]): Promise<number> {
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...cliArgs);
  await import('../main.ts');
  return Number(process.exitCode ?? 0);
}

async function ended(child: ChildProcess): Promise<number> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? 1;
}

function whatToTry(url: string): string {
  return `
Put it before the URL of any large file:

  curl -O ${url}/https://example.com/file.iso
  npm start -- get https://example.com/file.iso

What it does: ${url}/-/status    More: README.md

`;
}
