/** The kernel settings that we ship with an edge, for hosts set up like operators' machines. */

import { readFile } from 'node:fs/promises';

const FILE = new URL('../../edge/deploy/systemd/60-millrace.conf', import.meta.url);
const AVAILABLE = '/proc/sys/net/ipv4/tcp_available_congestion_control';
const SETTING = /^([a-z0-9_.]+) = (.+)$/gm;

/** Reads the settings, by their sysctl names. */
export async function edgeKernel(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(FILE, 'utf8');
  return new Map([...text.matchAll(SETTING)].map(([, name = '', value = '']) => [name, value]));
}

/** Returns the reason why no host can have the settings, in one line; undefined if hosts can. */
export async function edgeKernelImpossible(): Promise<string | undefined> {
  const wanted = (await edgeKernel()).get('net.ipv4.tcp_congestion_control') as string;
  const available = (await readFile(AVAILABLE, 'utf8')).trim().split(' ');
  if (available.includes(wanted)) return undefined;
  return `the kernel has ${available.join(', ')}, not ${wanted} (modprobe tcp_${wanted})`;
}
