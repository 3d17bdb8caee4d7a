/**
 * Anycast in a laboratory, with real routing daemons: BIRD at each edge announces what the edge
 * writes into its file, and BIRD at the router prefers the first edge that announces.
 */

import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programOrComplain } from '../fixtures/not-tested.ts';
import type { Host } from './host.ts';
import type { Lab } from './lab.ts';

/** Autonomous systems of the router and of the first edge, for private use (RFC 6996). */
const ROUTER_AS = 64_512;
const FIRST_AS = 64_513;
/** Preference of the first edge at the router; each next one has less. */
const PREFERENCE = 200;
const LOOK_EVERY_MS = 10;

/** Returns true if BIRD is installed; otherwise reports that tests prove nothing. */
export const birdOrComplain = (what: string): boolean => programOrComplain('bird', what);

/** Returns why no routing daemon can run, in one line; undefined if one can. */
export function birdImpossible(): string | undefined {
  if (spawnSync('bird', ['--version']).status === 0) return undefined;
  return 'BIRD is not installed (Debian: bird2)';
}

/** An edge's side of the routing. */
export interface AnycastHost {
  readonly host: Host;
  /** Options by which the edge announces the address. */
  readonly options: readonly string[];
  /** Command line that withdraws what a killed edge has left, as the systemd unit does. */
  readonly cleanUp: string;
}

export interface AnycastRoutes {
  readonly address: string;
  readonly hosts: readonly AnycastHost[];
  /** Returns the host that the router sends new connections to; undefined if there is none. */
  next(): Promise<Host | undefined>;
}

/**
 * Starts the daemons.
 *
 * @param address anycast address
 * @param hosts of edges, the one that is preferred first
 */
export async function startBirds(
  lab: Lab,
  address: string,
  hosts: readonly Host[],
): Promise<AnycastRoutes> {
  const router = lab.router;
  const routerOf = (host: Host) => host.address.replace(/\d+$/, '1');
  const peers = hosts.map(
    (host, i) => `protocol bgp edge${i + 1} {
  local ${routerOf(host)} as ${ROUTER_AS};
  neighbor ${host.address} as ${FIRST_AS + i};
  ${QUICK}
  ipv4 { import filter { bgp_local_pref = ${PREFERENCE - i}; accept; }; export none; };
}`,
  );
  const kernel = 'protocol kernel { ipv4 { import none; export all; }; }';
  await start(lab, router, '10.8.255.1', [kernel, ...peers].join('\n'));
  const anycast = hosts.map(async (host, i) => {
    lab.own(address, host);
    const folder = folderOf(lab, host);
    const peer = `protocol bgp upstream {
  local ${host.address} as ${FIRST_AS + i};
  neighbor ${routerOf(host)} as ${ROUTER_AS};
  ${QUICK}
  ipv4 { import none; export where proto = "millrace4"; };
}`;
    // No file is there before the first start of the edge: a pattern may match nothing.
    const include = `include "${join(folder, 'anycast*.conf')}";`;
    await start(lab, host, host.address, `${include}\n${peer}`);
    const file = join(folder, 'anycast.conf');
    const configure = `birdc -s ${join(folder, 'ctl')} configure`;
    return {
      host,
      options: [
        ...['--anycast-route', address, '--anycast-file', file],
        ...['--anycast-command', configure],
      ],
      cleanUp: `rm -f ${file} && ${configure}`,
    };
  });
  return {
    address,
    hosts: await Promise.all(anycast),
    async next() {
      const { stdout } = await router.run('ip', ['route', 'show', address]);
      return hosts.find((host) => stdout.includes(`via ${host.address} `));
    },
  };
}

/** The daemons find each other within a second, not within minutes. */
const QUICK = 'connect delay time 1; connect retry time 1; error wait time 1, 2; hold time 9;';

const folderOf = (lab: Lab, host: Host) => join(lab.folder, 'bird', host.name);

/** Starts a daemon, and waits until it takes commands. */
async function start(lab: Lab, host: Host, id: string, configuration: string): Promise<void> {
  const folder = folderOf(lab, host);
  await mkdir(folder, { recursive: true });
  const head = `log "${join(folder, 'log')}" all;\nrouter id ${id};\nprotocol device { }\n`;
  await writeFile(join(folder, 'bird.conf'), head + configuration);
  const [control, pid] = [join(folder, 'ctl'), join(folder, 'pid')];
  const args = ['-f', '-c', join(folder, 'bird.conf'), '-s', control, '-P', pid];
  const child = host.spawn('bird', args, { stdio: 'ignore' });
  while (child.exitCode === null && child.signalCode === null) {
    const asked = await host.run('birdc', ['-s', control, 'show', 'status']);
    if (/up and running/.test(asked.stdout)) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`BIRD at ${host.name} did not start`);
}
