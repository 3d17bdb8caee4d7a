/** `millrace daemon`: runs the daemon here or in the background, stops it, shows its status. */

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { formatRate } from '@millrace/shared/base/units';
import type { DaemonInfo } from '@millrace/shared/bridge/rpc/daemon-api';
import { type ExposureOptions, exposureOf } from '@millrace/shared/remote/exposure';
import { Command } from 'commander';
import { runningDaemon } from '../../local/daemon-address.ts';
import { logFile } from '../../local/daemon-launch.ts';
import { processState } from '../../local/process-state.ts';
import { action, type CliContext, type CommonOptions, type Report } from '../console/context.ts';
import { DaemonLink, withDaemon } from '../console/daemon-link.ts';
import { startDetached } from '../console/daemon-process.ts';
import { repeated, wholeNumber } from '../text/option-values.ts';
import { ago } from '../view/download-words.ts';
import { nowText } from '../view/schedule-text.ts';
import { accountCommand } from './remote/account.ts';

interface StartOptions extends CommonOptions {
  readonly detach?: boolean;
  readonly dir?: string;
  readonly port?: number;
  readonly allowOrigin?: readonly string[];
  readonly host?: string;
  readonly remotePort?: number;
  readonly publicUrl?: string;
  readonly allowHost?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly behindProxy?: readonly string[];
}

type Info = DaemonInfo & { readonly url: string | undefined };

const STOP_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
/** Exit status where no daemon runs: 3, as init scripts report a stopped service. */
const NOT_RUNNING = EXIT.network;

export function daemonCommand(context: CliContext): Command {
  const command = new Command('daemon').description(
    'run, stop and check the daemon, which downloads in the background',
  );
  command
    .command('start', { isDefault: true })
    .description('run the daemon here, or with --detach in the background')
    .option('--detach', 'run in the background; the log is in the state folder')
    .option('-d, --dir <folder>', 'folder for downloads (default: Downloads in your home folder)')
    .option('--port <number>', 'port on loopback; 0: any (default: 6800)', wholeNumber(0, 65_535))
    .option(
      '--allow-origin <origin>',
      'web origin whose pages may use the daemon, such as https://example.com; may be repeated',
      repeated((text) => text),
    )
    .option(
      '--host <address>',
      'also serve other machines, at this address, such as 0.0.0.0; needs --public-url, an account ("daemon account add"), and --tls-cert or --behind-proxy',
    )
    .option(
      '--remote-port <number>',
      'port for other machines; 0: any (default: 6801)',
      wholeNumber(0, 65_535),
    )
    .option('--public-url <url>', 'address that other machines use, such as https://nas.example')
    .option(
      '--allow-host <name>',
      'one more name of this machine, with a port unless it is 443; may be repeated',
      repeated((text) => text),
    )
    .option('--tls-cert <file>', 'certificate (PEM) for other machines; read again when it changes')
    .option('--tls-key <file>', 'its key')
    .option(
      '--behind-proxy <network>',
      'address or network of the reverse proxy that has the certificate; nobody else may connect, and its X-Forwarded-For is believed; may be repeated',
      repeated((text) => text),
    )
    .option('--json', 'print one JSON document')
    .action(
      action<StartOptions, []>(context, (report, options) => start(context, report, options)),
    );
  command
    .command('stop')
    .description('stop the daemon; running downloads continue at its next start')
    .option('--json', 'print one JSON document')
    .action(action(context, (report) => stop(context, report)));
  command
    .command('status')
    .description(`show the daemon’s status; exit status ${NOT_RUNNING} if none runs`)
    .option('--json', 'print one JSON document')
    .action(action(context, (report) => status(context, report)));
  command.addCommand(accountCommand(context));
  return command;
}

async function start(
  context: CliContext,
  report: Report,
  options: StartOptions,
): Promise<undefined> {
  const { detach, dir, port, remotePort, allowOrigin = [] } = options;
  const { state, cwd, signal } = context;
  const exposed = exposureOptions(options, cwd);
  const exposure = exposureOf(exposed);
  const folder = dir === undefined ? join(homedir(), 'Downloads') : resolve(cwd, dir);
  if (detach === true) {
    const before = await runningDaemon(state);
    if (before !== undefined) {
      throw new MillraceError('daemon-running', `process ${before.pid} at ${before.url}`);
    }
    // The daemon has the same default folder. Passed as an option, it would count as the user's
    // choice.
    const flags = dir === undefined ? [] : ['--dir', folder];
    if (port !== undefined) flags.push('--port', String(port));
    for (const origin of allowOrigin) flags.push('--allow-origin', origin);
    if (remotePort !== undefined) flags.push('--remote-port', String(remotePort));
    flags.push(...exposureFlags(exposed));
    const { pid, url } = await startDetached(state, flags);
    const log = logFile(state);
    report.result({ pid, url, log }, () => [`A Millrace daemon runs at ${url}`, `Log: ${log}`]);
    return;
  }
  // Imported here: the other commands start faster without it.
  const { startDaemon } = await import('../../engine/daemon/daemon.ts');
  const daemon = await startDaemon({
    state,
    dir: folder,
    dirChosen: dir !== undefined,
    ...(port === undefined ? {} : { port }),
    allowedOrigins: allowOrigin,
    exposure,
    remotePort,
    onNote: (text) => report.note(text),
  });
  const served = exposure === undefined ? undefined : exposure.origin;
  const document = {
    pid: process.pid,
    url: daemon.url,
    publicUrl: served,
    remotePort: daemon.remotePort,
  };
  report.result(document, () => [
    `Millrace daemon on ${daemon.url}`,
    ...(served === undefined ? [] : [`Other machines: ${served} (port ${daemon.remotePort})`]),
  ]);
  const end = () => void daemon.close();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  await daemon.ended;
}

/** Returns the options for other machines, with absolute paths. */
function exposureOptions(options: StartOptions, cwd: string): ExposureOptions {
  const { host, publicUrl, allowHost = [], tlsCert, tlsKey, behindProxy = [] } = options;
  const path = (file: string | undefined) => (file === undefined ? undefined : resolve(cwd, file));
  return {
    host,
    publicUrl,
    allowedHosts: allowHost,
    tlsCert: path(tlsCert),
    tlsKey: path(tlsKey),
    proxies: behindProxy,
  };
}

/** Returns the words that give a daemon in the background the same options. */
function exposureFlags(exposed: ExposureOptions): string[] {
  const named = {
    '--host': exposed.host,
    '--public-url': exposed.publicUrl,
    '--tls-cert': exposed.tlsCert,
    '--tls-key': exposed.tlsKey,
  };
  return [
    ...Object.entries(named).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...exposed.allowedHosts.flatMap((name) => ['--allow-host', name]),
    ...exposed.proxies.flatMap((network) => ['--behind-proxy', network]),
  ];
}

async function stop(context: CliContext, report: Report): Promise<undefined> {
  const pid = await endDaemon(context);
  if (pid === undefined) report.result({ stopped: false }, () => ['No daemon is running.']);
  else report.result({ stopped: true, pid }, () => ['The daemon has ended.']);
}

/**
 * Ends the daemon, if one runs, and waits until it has ended.
 *
 * @returns its process id; undefined if none ran
 * @throws MillraceError `daemon-silent`
 */
export async function endDaemon({
  state,
  signal,
}: Pick<CliContext, 'state' | 'signal'>): Promise<number | undefined> {
  const running = await runningDaemon(state);
  if (running === undefined) return undefined;
  try {
    await withDaemon({ state }, (daemon) => daemon.call('millrace.shutdown'));
  } catch (error) {
    // The daemon is ours and hangs: SIGTERM ends it.
    if (isMillraceError(error, 'daemon-silent')) process.kill(running.pid, 'SIGTERM');
    else if (!isMillraceError(error, 'daemon-not-running')) throw error;
  }
  const giveUpAt = performance.now() + STOP_TIMEOUT_MS;
  while (processState(running.pid) === 'ours') {
    signal.throwIfAborted();
    if (performance.now() > giveUpAt) {
      throw new MillraceError('daemon-silent', `process ${running.pid} does not end`);
    }
    await sleep(POLL_MS);
  }
  return running.pid;
}

async function status({ state }: CliContext, report: Report): Promise<number> {
  let daemon: DaemonLink;
  try {
    daemon = await DaemonLink.open(state);
  } catch (error) {
    if (!isMillraceError(error, 'daemon-not-running')) throw error;
    report.result({ running: false }, () => ['No daemon is running.']);
    return NOT_RUNNING;
  }
  try {
    const url = (await runningDaemon(state))?.url;
    const info = { ...(await daemon.call('millrace.info')), url };
    report.result({ running: true, ...info, log: logFile(state) }, () => statusLines(info, state));
    return EXIT.ok;
  } finally {
    daemon.close();
  }
}

function statusLines(info: Info, state: string): string[] {
  const counts = Object.entries(info.counts).filter(([, count]) => count > 0);
  const downloads = counts.map(([name, count]) => `${count} ${name}`).join(', ');
  const limit = info.limit === undefined ? '' : `, limit ${formatRate(info.limit)}`;
  return [
    `Millrace ${info.version} runs at ${info.url} (process ${info.pid})`,
    `  started    ${ago(Date.now() - info.startedAt)}`,
    `  downloads  ${downloads === '' ? 'none' : downloads}`,
    `  speed      ${formatRate(info.bytesPerSecond)}${limit}`,
    `  schedule   ${nowText(info.schedule)}`,
    `  folder     ${info.dir}`,
    `  state      ${info.state}`,
    `  log        ${logFile(state)}`,
  ];
}
