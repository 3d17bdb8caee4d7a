/** The settings of zone and anycast, put together and checked. */

import type { NameServer, Zone } from '@millrace/shared/cdn/zone/zone';
import { labelsBelow } from '@millrace/shared/cdn/zone/zone-name';

/** Settings of the table as they were read. */
export interface ReachRead {
  readonly host: string;
  readonly publicAddress: readonly string[] | undefined;
  readonly dnsZone: readonly string[] | undefined;
  readonly dnsServer: readonly NameServer[] | undefined;
  readonly dnsHost: readonly string[] | undefined;
  readonly dnsPort: number;
  readonly dnsTtl: number;
  readonly dnsEdges: number;
  readonly dnsRate: number;
  readonly dnsAcme: readonly string[] | undefined;
  readonly anycastRoute: readonly string[] | undefined;
  readonly anycastFile: string | undefined;
  readonly anycastFormat: 'bird' | 'exabgp';
  readonly anycastCommand: string | undefined;
  readonly anycastRise: number;
  readonly anycastHold: number;
  readonly leaveTime: number | undefined;
}

/** A zone that this node answers for. */
export interface ZoneConfig {
  readonly zone: Zone;
  readonly hosts: readonly string[];
  readonly port: number;
  /** Edges in one answer. */
  readonly edges: number;
  /** Answers per second to one network without cookies; 0: no limit. */
  readonly rate: number;
}

/** Routes that this edge announces while it is healthy. */
export interface AnycastConfig {
  /** Networks in CIDR notation. */
  readonly routes: readonly string[];
  readonly file: string;
  readonly format: 'bird' | 'exabgp';
  readonly command: string | undefined;
  readonly riseMs: number;
  readonly holdMs: number;
}

/** How clients that know nothing reach this edge. */
export interface ReachConfig {
  readonly publicAddress: readonly string[];
  readonly dns: ZoneConfig | undefined;
  readonly anycast: AnycastConfig | undefined;
  readonly leaveTime: number;
}

const DEFAULT_LEAVE_MS = 2000;

/**
 * Puts the settings together.
 *
 * @param stop reports settings that make no sense without each other
 */
export function readReach(read: ReachRead, stop: (message: string) => never): ReachConfig {
  const anycast = readAnycast(read, stop);
  return {
    publicAddress: read.publicAddress ?? [],
    dns: readZone(read, stop),
    anycast,
    leaveTime: read.leaveTime ?? (anycast === undefined ? 0 : DEFAULT_LEAVE_MS),
  };
}

function readZone(read: ReachRead, stop: (message: string) => never): ZoneConfig | undefined {
  const { dnsZone: name, dnsServer = [], dnsHost, host } = read;
  if (name === undefined) {
    if (dnsServer.length > 0) stop('--dns-server names servers of a zone: --dns-zone is missing');
    return undefined;
  }
  if (dnsServer.length === 0) {
    stop('--dns-zone takes the names of its servers: --dns-server is missing');
  }
  const servers = mergeServers(dnsServer);
  for (const server of servers) {
    const below = labelsBelow(name, server.name);
    if (below === undefined || server.addresses.length > 0) continue;
    stop(
      `--dns-server ${server.name.join('.')} is in the zone and takes an address, as in NAME=192.0.2.1`,
    );
  }
  return {
    zone: { name, servers, ttlS: read.dnsTtl, acme: read.dnsAcme },
    hosts: dnsHost ?? [host],
    port: read.dnsPort,
    edges: read.dnsEdges,
    rate: read.dnsRate,
  };
}

/** Puts together what several options say of one server. */
function mergeServers(servers: readonly NameServer[]): NameServer[] {
  const byName = new Map<string, NameServer>();
  for (const { name, addresses } of servers) {
    const before = byName.get(name.join('.'))?.addresses ?? [];
    byName.set(name.join('.'), { name, addresses: [...before, ...addresses] });
  }
  return [...byName.values()];
}

function readAnycast(read: ReachRead, stop: (message: string) => never): AnycastConfig | undefined {
  const { anycastFile: file, anycastRoute: routes, anycastFormat, anycastCommand } = read;
  if ((file === undefined) !== (routes === undefined)) {
    stop('--anycast-file and --anycast-route go together: only one of them is given');
  }
  if (file === undefined || routes === undefined) return undefined;
  return {
    routes,
    file,
    format: anycastFormat,
    command: anycastCommand,
    riseMs: read.anycastRise,
    holdMs: read.anycastHold,
  };
}
