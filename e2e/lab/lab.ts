/**
 * Several machines on one: network namespaces as hosts and as the router between them. `tbf` limits
 * rates, `netem` adds delay and loss; if the kernel has no `netem`, a program of our own does both.
 * The machine's own network stays unchanged. Needs Linux, root and iproute2.
 *
 * `npm run -s lab -- check` measures the accuracy on a machine. On a virtual machine with two cores
 * and our own program, the laboratory carried about 480 Mbit/s; beyond that, or beside other work,
 * packets are late.
 */

import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { notTested } from '../fixtures/not-tested.ts';
import { DELAY_DEVICE, Delay, type DelayStats, type LinkQueue } from './delay.ts';
import { Host } from './host.ts';
import { batch, Keeper, sweep } from './keeper.ts';
import { type Link, linkCommands } from './links.ts';

export interface LabOptions {
  /** Seed of losses. */
  readonly seed: number;
  /** Congestion control of the hosts' TCP; default: that of Linux. */
  readonly congestion?: 'cubic' | 'reno' | 'bbr';
}

/** Most hosts that the address plan allows. */
const MAX_HOSTS = 250;
/** Routing table for packets that have not been delayed yet. */
const BEFORE_DELAY = 100;

let labs = 0;

/** Returns why this machine cannot run a laboratory, in one line; undefined if it can. */
export function labImpossible(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are a matter of Linux';
  if (process.getuid?.() !== 0) return 'making network namespaces takes root';
  if (spawnSync('ip', ['-V']).status !== 0) return 'iproute2 is not installed';
  const made = spawnSync('unshare', ['--net', 'true'], { encoding: 'utf8' });
  if (made.status !== 0) return `no network namespaces: ${made.stderr?.trim()}`;
  if (!hasNetem() && spawnSync('cc', ['--version']).status !== 0) {
    return 'this kernel has no netem, and there is no C compiler (Debian: gcc) to make up for it';
  }
  return undefined;
}

/** Returns true if a laboratory can run; otherwise reports that its tests prove nothing. */
export function labOrComplain(what: string): boolean {
  const reason = labImpossible();
  if (reason === undefined) return true;
  notTested(`There is no laboratory (${reason})`, what);
  return false;
}

/** True if the kernel can delay packets. */
export function hasNetem(): boolean {
  const command = 'tc qdisc add dev lo root netem delay 1ms';
  return spawnSync('unshare', ['--net', 'sh', '-c', command]).status === 0;
}

export class Lab {
  readonly hosts: Host[] = [];
  readonly #keeper: Keeper;
  readonly #router: string;
  readonly #delay: Delay | undefined;
  readonly #congestion: string;

  private constructor(keeper: Keeper, delay: Delay | undefined, congestion: string) {
    this.#keeper = keeper;
    this.#router = routerOf(keeper);
    this.#delay = delay;
    this.#congestion = congestion;
  }

  /** Opens a laboratory. @throws Error if that is impossible: check `labImpossible` first */
  static async open(options: LabOptions): Promise<Lab> {
    await sweep();
    const keeper = new Keeper(labs++);
    try {
      mkdirSync(keeper.folder, { recursive: true, mode: 0o700 });
      const router = routerOf(keeper);
      batch('ip', undefined, [`netns add ${router}`]);
      kernel(router, {
        'ipv4/ip_forward': '1',
        'ipv4/conf/all/rp_filter': '0',
        'ipv4/conf/default/rp_filter': '0',
        'ipv4/conf/all/send_redirects': '0',
        'ipv4/conf/default/send_redirects': '0',
      });
      batch('ip', router, ['link set lo up']);
      const delay = hasNetem() ? undefined : await Delay.start(router, options.seed);
      if (delay !== undefined) {
        batch('ip', router, [
          `link set ${DELAY_DEVICE} txqueuelen 10000 up`,
          `rule add pref 10 iif ${DELAY_DEVICE} lookup main`,
          'rule add pref 11 iif lo lookup main',
          `rule add pref 12 lookup ${BEFORE_DELAY}`,
          `route add default dev ${DELAY_DEVICE} table ${BEFORE_DELAY}`,
        ]);
      }
      return new Lab(keeper, delay, options.congestion ?? 'cubic');
    } catch (error) {
      await keeper.clear();
      throw error;
    }
  }

  /** The machine between all hosts, for routing daemons. */
  get router(): Host {
    const [namespace, address] = [this.#router, '127.0.0.1'];
    return new Host({
      ...{ name: 'router', namespace, address, port: 'lo', link: {} },
      mark: this.#keeper.mark,
    });
  }

  /** Folder that is deleted with the laboratory. */
  get folder(): string {
    return this.#keeper.folder;
  }

  /** Id of the process that removes everything when this one ends. */
  get keeper(): number {
    return this.#keeper.pid;
  }

  /** Name of the packet delayer: the kernel's, or our own program. */
  get delayedBy(): 'netem' | 'delay.c' {
    return this.#delay === undefined ? 'netem' : 'delay.c';
  }

  /** Returns the statistics of our own program; undefined if the kernel delays packets. */
  async delayStats(): Promise<DelayStats | undefined> {
    return this.#delay?.stats();
  }

  /** Adds a host. */
  host(name: string, link: Link = {}): Host {
    const number = this.hosts.length + 1;
    if (number > MAX_HOSTS) throw new Error(`at most ${MAX_HOSTS} hosts`);
    const namespace = `${this.#keeper.prefix}-h${number}`;
    const [net, port] = [`10.8.${number}`, `port${number}`];
    batch('ip', undefined, [`netns add ${namespace}`]);
    batch('ip', this.#router, [
      `link add ${port} type veth peer name eth0 netns ${namespace}`,
      `address add ${net}.1/24 dev ${port}`,
      `link set ${port} up`,
    ]);
    // TCP metrics saved from one run would influence the next.
    kernel(namespace, { 'ipv4/tcp_no_metrics_save': '1' });
    batch('ip', namespace, [
      'link set lo up',
      `address add ${net}.2/24 dev eth0`,
      'link set eth0 up',
    ]);
    leadOut(namespace, `${net}.1`, this.#congestion);
    const { mark } = this.#keeper;
    const host = new Host({ name, address: `${net}.2`, namespace, port, link, mark });
    this.hosts.push(host);
    this.change(host, {});
    return host;
  }

  /**
   * Changes kernel settings of a host. Skips settings that only the whole machine has.
   *
   * @param settings values by sysctl name
   * @throws Error for a congestion control that this kernel lacks
   */
  tune(host: Host, settings: ReadonlyMap<string, string>): void {
    const paths = [...settings].map(([name, value]) => [pathOf(name), value] as const);
    const own = settingsOf(host.namespace);
    kernel(host.namespace, Object.fromEntries(paths.filter(([path]) => own.has(path))));
    const congestion = settings.get('net.ipv4.tcp_congestion_control');
    // The route's own setting has precedence.
    if (congestion !== undefined) leadOut(host.namespace, routerOn(host), congestion);
  }

  /** Changes properties of a host's link, also during connections. */
  change(host: Host, link: Link): void {
    host.link = { ...host.link, ...link };
    if (this.#delay !== undefined) {
      this.#delay.set(host.address, host.link);
      return;
    }
    batch('tc', this.#router, linkCommands(host.port, host.link, 'down'));
    batch('tc', host.namespace, linkCommands('eth0', host.link, 'up'));
  }

  /** Gives a host a further address, which the router does not know yet. */
  own(address: string, host: Host): void {
    batch('ip', host.namespace, [`address replace ${address}/32 dev lo`]);
    this.#delay?.alias(address, host.address);
  }

  /**
   * Routes an address to a host from now on. The host resets connections that began at another
   * host, because it does not know them; the other host receives nothing more.
   */
  route(address: string, host: Host): void {
    this.own(address, host);
    batch('ip', this.#router, [`route replace ${address}/32 via ${host.address} dev ${host.port}`]);
  }

  /**
   * Returns the bytes that wait before a host's downward rate limit, and the bytes that have passed
   * it.
   */
  async queue(host: Host): Promise<LinkQueue> {
    if (this.#delay !== undefined) return this.#delay.queue(host.address);
    const command = ['tc', '-s', '-j', 'qdisc', 'show', 'dev', host.port];
    const args = ['netns', 'exec', this.#router, ...command];
    const { stdout } = await promisify(execFile)('ip', args);
    const queues = JSON.parse(stdout) as { kind: string; backlog: number; bytes: number }[];
    const limited = queues.find(({ kind }) => kind === 'tbf');
    return { bytes: limited?.backlog ?? 0, sentBytes: limited?.bytes ?? 0 };
  }

  /** Ends all programs in all hosts and removes everything. */
  async close(): Promise<void> {
    await this.#keeper.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

const routerOf = (keeper: Keeper) => `${keeper.prefix}-router`;

/** The router's address on a host's own line. */
const routerOn = ({ address }: Host) => address.replace(/\d+$/, '1');

/** Routes all packets of a host through the router. */
function leadOut(namespace: string, router: string, congestion: string): void {
  // Some kernels do not allow setting the namespace's default; a route's can always be set.
  batch('ip', namespace, [`route replace default via ${router} congctl ${congestion}`]);
}

/** Path of a setting below /proc/sys/net. */
const pathOf = (setting: string) => setting.replace(/^net\./, '').replaceAll('.', '/');

/** Lists a namespace's own settings below /proc/sys/net. */
function settingsOf(namespace: string): ReadonlySet<string> {
  const command = ['find', '/proc/sys/net', '-type', 'f', '-printf', '%P\n'];
  const listed = execFileSync('ip', ['netns', 'exec', namespace, ...command], { encoding: 'utf8' });
  return new Set(listed.split('\n'));
}

/** Sets values below /proc/sys/net. */
function kernel(namespace: string, values: Readonly<Record<string, string>>): void {
  const lines = Object.entries(values).map(
    ([path, value]) => `echo '${value}' > /proc/sys/net/${path}`,
  );
  execFileSync('ip', ['netns', 'exec', namespace, 'sh', '-ec', lines.join('\n')]);
}
