/**
 * Files of depots inside a network. Nodes ask each other for such a file, route it and cache it
 * under a name without its capability: `http://depot.invalid/ID`. That host can have no origin
 * (RFC 6761 6.4), and the policy of each edge refuses it to clients, so whoever knows an id alone
 * gets nothing.
 *
 * The last characters of an id name the depot that has given it. So an edge that is asked for an id
 * knows from the heartbeats which node to ask, and asks nobody about an id that was made up.
 */

import type { Millis } from '../../base/clock.ts';

const HOST = 'depot.invalid';
const FILE = new RegExp(`^http://${HOST.replace('.', '\\.')}/([A-Za-z0-9_-]{16})$`);
const WHOLE = new RegExp(`^http://${HOST.replace('.', '\\.')}/whole/`);
const QUESTION = new RegExp(`${FILE.source.slice(0, -1)}\\?(proof|keep)=([0-9a-f]{64})$`);

/** Bytes at the end of an id that name its depot, and their number of characters in base64url. */
export const DEPOT_TAG_BYTES = 3;
const TAG_CHARS = 4;

/** Time for which an edge serves a file of another one without asking, and so do clients' caches. */
export const FRESH_MS: Millis = 60_000;

/** Returns the name of a file of a depot inside the network. */
export function depotFileUrl(id: string): string {
  return `http://${HOST}/${id}`;
}

/** Reads the id from such a name; undefined: it is a file of an origin. */
export function depotFileId(url: string): string | undefined {
  return FILE.exec(url)?.[1];
}

/**
 * Returns the name under which an edge keeps blocks of a file that it puts together from what depots
 * have. It is for this edge alone: no other one is asked for it.
 *
 * @param id of the exNode that describes the file
 * @param edition tells readings of that exNode from each other
 */
export function wholeFileUrl(id: string, edition: number): string {
  return `http://${HOST}/whole/${id}/${edition}`;
}

/** Returns true for files of depots: a capability alone decides who may read them, and no policy. */
export function isFileOfDepots(url: string): boolean {
  return FILE.test(url) || WHOLE.test(url);
}

/**
 * Returns the entity tag of a file of a depot.
 *
 * @param edition of an exNode that has been replaced so often; undefined: never
 */
export function depotFileTag(id: string, edition?: number): string {
  return edition === undefined ? `"${id}"` : `"${id}.${edition}"`;
}

/** Returns true for hosts that stand for depots: no client may ask for anything there. */
export function isDepotHost(hostname: string): boolean {
  return hostname === HOST || hostname.endsWith(`.${HOST}`);
}

/**
 * Returns the name under which a node asks a depot about a file, for a client that has shown a
 * capability.
 *
 * @param proof SHA-256 of the capability's secret, hexadecimal
 */
export function depotQuestion(id: string, proof: string): string {
  return `${depotFileUrl(id)}?proof=${proof}`;
}

/**
 * Returns the name under which a depot asks a node to keep a copy of an exNode. The node fetches the
 * exNode, and answers as the depot does once it has it.
 *
 * @param proof as for `depotQuestion`
 */
export function keepQuestion(id: string, proof: string): string {
  return `${depotFileUrl(id)}?keep=${proof}`;
}

/** A question to a depot about a file, or to a node that is to keep a copy of it. */
export interface DepotQuestion {
  readonly id: string;
  readonly proof: string;
  readonly keep: boolean;
}

/** Reads the name of a question; undefined for all others. */
export function parseDepotQuestion(url: string): DepotQuestion | undefined {
  const [, id, kind, proof] = QUESTION.exec(url) ?? [];
  if (id === undefined || proof === undefined) return undefined;
  return { id, proof, keep: kind === 'keep' };
}

/** Returns the part of an id that names its depot. */
export function depotTagOf(id: string): string {
  return id.slice(-TAG_CHARS);
}

/** Times that an edge knows of a file of another one, by its own clock, Unix milliseconds. */
export interface FileLife {
  /** When the depot was asked. */
  readonly askedAt: Millis;
  readonly leaseEnd: Millis;
}

/**
 * Decides how an edge may use what it knows of a file: `fresh`, without asking; `stale`, only if
 * the depot does not answer; `over`, not at all. A clock that was set back makes nothing fresh.
 */
export function stateOfFile(
  { askedAt, leaseEnd }: FileLife,
  now: Millis,
): 'fresh' | 'stale' | 'over' {
  if (now >= leaseEnd) return 'over';
  return now >= askedAt && now < askedAt + FRESH_MS ? 'fresh' : 'stale';
}
