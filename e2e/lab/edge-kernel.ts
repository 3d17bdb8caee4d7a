/** The kernel settings that come with an edge, for hosts that are to be set up as its operators' are. */

import { readFile } from 'node:fs/promises';

const FILE = new URL('../../edge/deploy/systemd/60-millrace.conf', import.meta.url);
const SETTING = /^([a-z0-9_.]+) = (.+)$/gm;

/** By the names that sysctl knows. */
export async function edgeKernel(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(FILE, 'utf8');
  return new Map([...text.matchAll(SETTING)].map(([, name = '', value = '']) => [name, value]));
}
