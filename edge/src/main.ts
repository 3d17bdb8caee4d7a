/** The edge as a program: settings, listening, signals. */

import cluster from 'node:cluster';
import { writeSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { onFatalError } from '@millrace/shared/node/fatal-log';
import { boundYoungGeneration } from '@millrace/shared/node/memory/young-generation';
import { type Logger, pino } from 'pino';
import { Announcer, type AnycastState } from './anycast/announcer.ts';
import { SelfCheck } from './anycast/self-check.ts';
import { type App, buildApp } from './app.ts';
import { announcementOf } from './config/announced-at.ts';
import { type Config, canReload, readConfig, Stop } from './config/config.ts';
import type { HouseAnnouncer } from './house/house-announcer.ts';
import { openRenewer } from './listen/acme/renewer.ts';
import { otherUrls } from './listen/other-urls.ts';
import { collectLoading } from './memory/collect-garbage.ts';
import { OriginRules } from './policy/origin-rules.ts';
import type { Addresses } from './workers/messages.ts';
import { Supervisor, WORKER_INDEX, WORKER_KEY } from './workers/supervisor.ts';
import { WorkerLink, workerConfig } from './workers/worker-link.ts';

async function main(): Promise<void> {
  const whole = readConfig(process.argv.slice(2), process.env);
  const link = cluster.isWorker ? openLink() : undefined;
  const config = link === undefined ? whole : workerConfig(whole, link.index);
  const log: Logger<string> = pino(
    { level: config.logLevel, base: { node: config.name } },
    { write: writeLog },
  );
  onFatalError((error) => log.fatal(error, 'an error that nothing handles ends the process'));
  warn(config, log);
  if (config.workers > 1 && cluster.isPrimary) return supervise(config, log);
  await serve(config, log, link);
}

/** Opens the link of a worker to its supervisor. */
function openLink(): WorkerLink {
  const { [WORKER_INDEX]: index, [WORKER_KEY]: key = '' } = process.env;
  // Programs that this process may start are not to have it.
  delete process.env[WORKER_KEY];
  return new WorkerLink(Number(index), key);
}

/** Warns of settings that are probably not meant. */
function warn(config: Config, log: Logger<string>): void {
  if (cluster.isWorker) return; // the supervisor has warned already
  const { allowOrigin, preset, localTokenFile, linkSecretFile, rulesFile } = config;
  const unlisted = rulesFile === undefined || OriginRules.fromFile(rulesFile).servesNothing;
  const signed = linkSecretFile !== undefined;
  const listed = allowOrigin.length + preset.length > 0;
  if (!listed && localTokenFile === undefined && unlisted && !signed) {
    log.warn({}, 'no --allow-origin given: this edge will serve nothing');
  }
  if (config.peers.length > 0 && config.secretFile === undefined) {
    log.warn({}, 'no --secret-file given: only nodes on this machine are accepted as peers');
  }
  if (isOutOfReach(config)) {
    log.warn(
      {},
      'other nodes cannot reach this one: it takes --http-port or a --peer-url of https',
    );
  }
}

/** Returns true if the node's only port takes TLS, for a name that it does not tell other nodes. */
function isOutOfReach({ tlsCert, httpPort, workers, peers, peerUrl }: Config): boolean {
  if (tlsCert === undefined || httpPort !== undefined || workers > 1) return false;
  return peers.length > 0 && peerUrl === undefined;
}

/** Runs one process among several, or the only one. */
async function serve(config: Config, log: Logger<string>, link?: WorkerLink): Promise<void> {
  collectLoading();
  boundYoungGeneration();
  // Of several processes the supervisor orders the certificate.
  const renewer = link === undefined ? openRenewer(config, log) : undefined;
  await renewer?.prepare();
  const app = await buildApp(config, log, link);
  // Several processes have one supervisor, which announces their routes.
  const announcer = link === undefined ? openAnnouncer(config, log, app.setAnycast) : undefined;
  let house: HouseAnnouncer | undefined;
  app.onTakesClients = (takes) => {
    void announcer?.setTakesClients(takes);
    void house?.setTakesClients(takes);
  };
  let ending: Promise<void> | undefined;
  const end = async () => {
    await house?.stop();
    ending ??= shutDown(app, config, log, announcer);
    return ending;
  };
  onSignal(end);
  onHangUp(config, () => app.reload(), end);
  onParentGone(end);
  await announcer?.begin();
  const addresses = await app.listen();
  announcer?.watch(selfCheck(addresses));
  renewer?.start();
  log.info({ ...addresses }, 'listening');
  if (link !== undefined) return;
  announce(config, addresses);
  house = await openHouse(config, addresses, log);
}

async function supervise(config: Config, log: Logger<string>): Promise<void> {
  const announcer = openAnnouncer(config, log, (state) => supervisor.setAnycast(state));
  let house: HouseAnnouncer | undefined;
  const supervisor = new Supervisor(config, log, (draining) => {
    void announcer?.setTakesClients(!draining);
    void house?.setTakesClients(!draining);
  });
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= stopSupervisor();
    return ending;
  };
  const stopSupervisor = async () => {
    await house?.stop();
    await announcer?.setTakesClients(false);
    announcer?.stop();
    await supervisor.stop();
    process.exit(0);
  };
  onSignal(end);
  onParentGone(end);
  onHangUp(config, () => supervisor.reload(), end);
  await announcer?.begin();
  const renewer = openRenewer(config, log);
  await renewer?.prepare();
  const addresses = await supervisor.start();
  renewer?.start();
  announcer?.watch(selfCheck(addresses));
  announce(config, addresses);
  house = await openHouse(config, addresses, log);
}

/** Begins to announce the edge on the local network, if it is to be. */
async function openHouse(
  config: Config,
  { address }: Addresses,
  log: Logger<string>,
): Promise<HouseAnnouncer | undefined> {
  const announcement = announcementOf(config, address.split(' and '));
  if (announcement === undefined) return undefined;
  // Loaded here: most edges announce nothing.
  const { HouseAnnouncer: Announcing } = await import('./house/house-announcer.ts');
  const house = new Announcing({ announcement, host: config.host, log });
  await house.setTakesClients(true);
  return house;
}

/** Opens the announcer of the edge's anycast routes, if it has any. */
function openAnnouncer(
  { anycast: config }: Config,
  log: Logger<string>,
  onState: (state: AnycastState) => void,
): Announcer | undefined {
  if (config === undefined) return undefined;
  return new Announcer({ config, log, now: () => performance.now(), onState });
}

/** Makes the check of an edge's health at its own port. */
function selfCheck({ address }: Addresses): SelfCheck {
  return new SelfCheck(address.split(' and ').at(-1) ?? address);
}

/** Prints lines for people; scripts read the first one. The log goes to stderr. */
function announce(config: Config, { address, admin, dns }: Addresses): void {
  process.stdout.write(`Millrace edge ${config.name} listening on ${address}\n`);
  const others = otherUrls(config.host, address.split(' and '), networkInterfaces());
  if (others.length > 0) process.stdout.write(`Also listening on ${others.join(', ')}\n`);
  if (dns !== undefined && config.dns !== undefined) {
    const zone = config.dns.zone.name.join('.');
    process.stdout.write(`Answering for ${zone} at ${dns.join(', ')}\n`);
  }
  if (admin !== undefined) process.stdout.write(`Administration at ${admin}/-/dashboard\n`);
}

function onSignal(act: () => Promise<void>): void {
  process.once('SIGTERM', () => void act());
  process.once('SIGINT', () => void act());
}

/**
 * Ends when the process that started this one is gone or tells it to end: a supervisor, without
 * which a worker gets no more clients, or the launcher of `npm start` and `npm run edge`.
 */
function onParentGone(end: () => Promise<void>): void {
  process.once('disconnect', () => void end());
}

/**
 * On SIGHUP, reads files again. Without such files SIGHUP ends the edge, as it does other programs;
 * so it does in a terminal, which is gone then.
 */
function onHangUp(config: Config, reload: () => void, end: () => Promise<void>): void {
  const act = canReload(config) && !process.stdin.isTTY ? reload : () => void end();
  process.on('SIGHUP', act);
}

/**
 * Writes a line of the log. The reader of the log may be gone: an edge must not stop because the
 * reader has gone, and pino's own destination would wait for ever for a new one.
 */
function writeLog(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // There is no reader to tell.
  }
}

/**
 * Sends new clients elsewhere for `--leave-time`; then stops accepting, lets transfers finish, and
 * resets the rest after the grace time.
 */
async function shutDown(
  app: App,
  config: Config,
  log: Logger<string>,
  announcer: Announcer | undefined,
): Promise<void> {
  const isDrained = app.transfers.draining;
  app.transfers.setLeaving(true);
  await announcer?.setTakesClients(false);
  announcer?.stop();
  if (!isDrained && config.leaveTime > 0) {
    log.info({ leaveMs: config.leaveTime }, 'leaving: clients are told to come no more');
    await pause(config.leaveTime);
  }
  app.transfers.drain();
  app.stopAccepting();
  // Logged only now, when no connection is taken any more.
  log.info({ transfers: app.transfers.running, graceMs: config.grace }, 'shutting down');
  const grace = new Promise<void>((resolve) => setTimeout(resolve, config.grace).unref());
  await Promise.race([app.transfers.idle(), grace]);
  await app.close();
  log.info({}, 'stopped');
  process.exit(0);
}

type Listening = NodeJS.ErrnoException & { readonly address?: string; readonly port?: number };

/** Says in plain words why a port cannot be listened on; undefined for other errors. */
function whyNot({ code, address, port }: Listening): string | undefined {
  const at = `${address}:${port}`;
  if (code === 'EADDRINUSE') {
    return (
      `another program listens at ${at} (EADDRINUSE), perhaps the edge of "npm start".\n` +
      'End it, or choose another --port.'
    );
  }
  if (code === 'EACCES' && port !== undefined) {
    return (
      `this user may not listen at ${at}. Choose a port from 1024 on (--port, --dns-port),\n` +
      'or give the edge the right to (CAP_NET_BIND_SERVICE).'
    );
  }
  return code === 'EADDRNOTAVAIL'
    ? `this machine has no address ${address}. Check --host.`
    : undefined;
}

process.stdout.on('error', () => {}); // its reader may be gone as well

main().catch((error: unknown) => {
  if (error instanceof Stop) {
    (error.exitCode === 0 ? process.stdout : process.stderr).write(`${error.message.trimEnd()}\n`);
    process.exit(error.exitCode);
  }
  const { message } = error as Error;
  process.stderr.write(`The edge cannot start: ${whyNot(error as Listening) ?? message}\n`);
  process.exit(1);
});
