/** The settings of a depot: the folder in which an edge keeps files for their owners. */

import { parseBytes, parseDuration } from '@millrace/shared/base/unit-options';
import * as z from 'zod';
import { readOwners } from '../policy/depot-owners.ts';
import { type Setting, text, usable } from './readers.ts';

export const DEPOT_SETTINGS = {
  'depot-dir': {
    argument: '<folder>',
    help: 'folder for files that owners store at this edge for a time; with it the edge is a depot; none by default',
    schema: z.string().min(1),
    default: undefined,
  },
  'depot-owners-file': {
    argument: '<file>',
    help: 'file with those who may store files in the depot, a line each, as "millrace edge owner" prints it; without it nobody may; read again on SIGHUP',
    schema: usable(readOwners),
    default: undefined,
  },
  'depot-quota': {
    argument: '<size>',
    help: 'disk space that files in the depot may take',
    schema: text(parseBytes),
    default: '10GiB',
  },
  'depot-max': {
    argument: '<time>',
    help: 'longest time that a file can be stored for at once',
    schema: text(parseDuration),
    default: '30d',
  },
} as const satisfies Record<string, Setting>;

/** The settings, read; those that the depot must agree with are among them. */
export interface DepotConfig {
  readonly depotDir: string | undefined;
  readonly depotOwnersFile: string | undefined;
  readonly depotQuota: number;
  readonly depotMax: number;
}

/**
 * Checks the settings of a depot against others.
 *
 * @param stop reports settings that make no sense together
 */
export function checkDepot(
  config: DepotConfig & {
    readonly host: string;
    readonly publicUrl: string | undefined;
  },
  stop: (message: string) => never,
): void {
  const { depotDir, depotOwnersFile, publicUrl, host } = config;
  if (depotDir === undefined) {
    if (depotOwnersFile !== undefined) {
      stop('--depot-owners-file is for a depot: --depot-dir is missing');
    }
    return;
  }
  // Links hold secrets, and have to lead back here.
  if (publicUrl === undefined) {
    if (!isLoopback(host)) stop('--depot-dir needs --public-url, which its links begin with');
    return;
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol !== 'https:' && !isLoopback(hostname)) {
    stop('--depot-dir needs a --public-url with https: the links of a depot hold secrets');
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\./.test(host);
}
