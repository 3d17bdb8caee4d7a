/**
 * Finds depots for an upload that needs more than the user has named: the edges with room in the
 * networks of those (L-Bone, LOCI 2.2). A found depot gets the token that the user has given for the
 * edge that names it, and is used if it takes that token.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, isOfSource, MillraceError } from '@millrace/shared/base/errors';
import { hasRoom } from '@millrace/shared/cdn/depot/depot-room';
import { type KnownDepot, merged, mixed } from '@millrace/shared/exnode/depot-choice';
import { tryRead } from '@millrace/shared/schema/read';
import * as z from 'zod';
import { admitListed } from '../net/listed-hosts.ts';
import { OwnNetwork } from '../net/own-network.ts';
import { type DepotRoom, edgesWithRoomOf, roomOf } from '../upload/depot-client.ts';
import type { KeptHistory } from '../upload/spread/kept-history.ts';
import type { DepotAccess } from '../upload/spread-upload.ts';
import { type Chosen, KeptChoice } from './kept-choice.ts';

/** Longest wait for the answer of one edge. */
const ASK_MS: Millis = 10_000;
/** Most entries of a list that are looked at. */
const MAX_ENTRIES = 2000;
/** Most found edges that are ordered, and most that are asked: a list may be anybody's. */
const MAX_ORDERED = 256;
const MAX_ASKED = 64;

const LIST = z.object({ edges: z.array(z.unknown()) });
const ENTRY = z.object({
  url: z.url({ protocol: /^https?$/ }).max(300),
  healthy: z.boolean(),
  rttMs: z.number().min(0).optional(),
  org: z.string().max(64).optional(),
  depot: z.object({ freeBytes: z.number(), maxSeconds: z.number() }).optional(),
});

export interface FindOptions {
  /** Depots that the user has named, with the tokens for them. */
  readonly named: readonly DepotAccess[];
  /** Number of depots that the upload needs. */
  readonly count: number;
  /** Bytes that each stores. */
  readonly bytes: number;
  readonly forMs: Millis;
  /** Origins of depots that are not to be found. */
  readonly without?: ReadonlySet<string>;
  /** Texts that tell this upload from others, with that of its file. */
  readonly upload: readonly string[];
  /** Folder for the state of programs. */
  readonly state: string;
  /** Remembers how depots have done. */
  readonly history: KeptHistory;
  readonly signal: AbortSignal;
  readonly observe: FindObserver;
}

export interface FindObserver {
  /** Called when a found edge is used. @param by the edge that has named it */
  found(edge: string, by: string): void;
  /** Called when an edge is not used, or one that the user has named tells of no others. */
  passed(edge: string, error: MillraceError): void;
}

export interface FoundDepots {
  /** The named depots, and those that were found: as many as are needed. */
  readonly depots: readonly DepotAccess[];
  /** Forgets which depots are used: the upload is complete. */
  readonly forget: () => Promise<void>;
}

interface Candidate extends KnownDepot {
  /** The edge that has named it. */
  readonly by: DepotAccess;
  readonly network: OwnNetwork;
  /** True if an earlier run of the upload uses it: it may have room for no more. */
  readonly isKept: boolean;
}

/**
 * Finds as many depots as an upload needs. Named ones come first.
 *
 * @throws MillraceError `too-few-depots`, before anything is stored; the signal's reason
 */
export async function findDepots(options: FindOptions): Promise<FoundDepots> {
  const { named, count, state, history, upload, signal, observe, without = new Set() } = options;
  if (named.length >= count) return { depots: named, forget: async () => {} };
  const kept = new KeptChoice(state, upload);
  const lists = await Promise.all(named.map((by) => listOf(by, options)));
  signal.throwIfAborted();
  const networks = new Map(named.map(({ edge }, i) => [edge, (lists[i] as List).network]));
  const earlier = (await kept.read()).flatMap(({ origin, by: edge }): Candidate[] => {
    const by = named.find((one) => one.edge === edge);
    const network = networks.get(edge);
    return by && network ? [{ origin, by, network, isKept: true }] : [];
  });
  const own = lists.map(({ self }, i): KnownDepot => self ?? { origin: named[i]?.edge ?? '' });
  // Under the name that it has in its network as well, a depot that the user has named is no other.
  const taken = new Set([...own.map(({ origin }) => origin), ...named.map(({ edge }) => edge)]);
  const isFree = ({ origin }: KnownDepot) => !taken.has(origin) && !without.has(origin);
  const others = merged(lists.map((list) => list.found)).filter(isFree);
  const { usable: able, last } = await history.ordered(others.slice(0, MAX_ORDERED));
  const good = mixed(able, own);
  const ordered = [...good, ...mixed(last, [...own, ...good])];
  const waiting = merged([[...earlier.filter(isFree), ...ordered.slice(0, MAX_ASKED)]]);
  const found: Candidate[] = [];
  while (named.length + found.length < count && waiting.length > 0) {
    const asked = waiting.splice(0, count - named.length - found.length);
    const usable = await Promise.all(asked.map((one) => isUsable(one, options)));
    found.push(...asked.filter((_, i) => usable[i]));
  }
  signal.throwIfAborted();
  await history.save();
  const lack = count - named.length - found.length;
  if (lack > 0) throw tooFew(count, lack);
  await kept.write(found.map(({ origin, by }): Chosen => ({ origin, by: by.edge })));
  for (const { origin, by } of found) observe.found(origin, by.edge);
  const more = found.map(({ origin: edge, by: { token } }): DepotAccess => ({ edge, token }));
  return { depots: [...named, ...more], forget: () => kept.remove() };
}

function tooFew(count: number, lack: number): MillraceError {
  const more = lack === 1 ? '1 more is needed' : `${lack} more are needed`;
  const detail = `that takes ${count} depots: ${more} than have been named, or found with room`;
  return new MillraceError('too-few-depots', detail);
}

/** Answer of an edge about its network. */
interface List {
  readonly network: OwnNetwork;
  readonly found: readonly Candidate[];
  /** The edge itself, as its network knows it. */
  readonly self?: KnownDepot | undefined;
}

/** Asks a named edge for others. One that does not answer has none. */
async function listOf(by: DepotAccess, options: FindOptions): Promise<List> {
  const { bytes, forMs, observe } = options;
  const network = new OwnNetwork({ download: new URL(by.edge), others: [] });
  const need = { bytes, seconds: Math.ceil(forMs / 1000) };
  try {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(ASK_MS)]);
    const text = await edgesWithRoomOf(by.edge, need, network.lookup, signal);
    const entries = readEntries(text);
    const known = ({ url, org }: Entry): KnownDepot => ({ origin: new URL(url).origin, org });
    const self = entries.find(({ rttMs }) => rttMs === 0);
    const able = entries.filter(({ healthy, depot }) => healthy && hasRoom(depot, need));
    const found = able.map((one) => ({ ...known(one), by, network, isKept: false }));
    return { network, found, self: self && known(self) };
  } catch (error) {
    options.signal.throwIfAborted();
    observe.passed(by.edge, asMillraceError(error));
    return { network, found: [] };
  }
}

type Entry = z.output<typeof ENTRY>;

/** Reads a list of edges; entries that cannot be read are left out. @throws MillraceError */
function readEntries(text: string): Entry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below.
  }
  const { edges } = tryRead(LIST, value).data ?? {};
  if (edges === undefined)
    throw new MillraceError('malformed-response', 'the answer lists no edges');
  return edges.slice(0, MAX_ENTRIES).flatMap((one) => tryRead(ENTRY, one).data ?? []);
}

/** Finds out whether a candidate takes the token, and has room for its owner. Never rejects. */
async function isUsable(candidate: Candidate, options: FindOptions): Promise<boolean> {
  const { origin, by, network, isKept } = candidate;
  try {
    admitListed(origin, by.edge, network);
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(ASK_MS)]);
    const room = await roomOf(origin, by.token, signal);
    if (!isKept) checkRoom(room, options);
    return true;
  } catch (error) {
    if (options.signal.aborted) return false;
    const failure = asMillraceError(error);
    options.observe.passed(origin, failure);
    // The edge that names it has answered, so the line is not to blame. Whom it knows is its own affair.
    if (isOfSource(failure.row)) options.history.failed(origin, failure);
    return false;
  }
}

/** @throws MillraceError `allocation-refused` */
function checkRoom({ bytes, each = Infinity, seconds }: DepotRoom, need: FindOptions): void {
  if (Math.min(bytes, each) < need.bytes) {
    throw new MillraceError('allocation-refused', `${Math.min(bytes, each)} bytes are left`);
  }
  if (seconds * 1000 < need.forMs) {
    throw new MillraceError('allocation-refused', `it stores files for ${seconds} s at most`);
  }
}
