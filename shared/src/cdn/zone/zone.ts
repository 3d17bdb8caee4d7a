/**
 * Decides the answers of a zone of edges (RFC 1034 4.3.2): the zone itself and all names below it
 * have the addresses of edges; its name servers may have addresses of their own. Nothing else exists.
 */

import { type Labels, labelsBelow } from './zone-name.ts';

/** Longest time for which an answer that names edges may be kept, seconds. */
export const MAX_EDGE_TTL_S = 30;
/** Time for which the names and addresses of the zone's servers may be kept, seconds. */
const SERVER_TTL_S = 3600;
/** Timers of secondary servers, which this zone does not have, seconds (RIPE 203). */
const REFRESH_S = 3600;
const RETRY_S = 600;
const EXPIRE_S = 86_400;

/** Types of records and questions by number (RFC 1035 3.2, 8482, 5936). */
export const TYPE = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  HINFO: 13,
  AAAA: 28,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;
export const CLASS_IN = 1;

/** Codes of answers (RFC 1035 4.1.1, 6891 9). */
export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;
export type Rcode = (typeof RCODE)[keyof typeof RCODE];

/** One server of the zone. */
export interface NameServer {
  readonly name: Labels;
  /** Addresses, which a server needs whose name is in the zone. */
  readonly addresses: readonly string[];
}

/** Settings of a zone. */
export interface Zone {
  readonly name: Labels;
  readonly servers: readonly NameServer[];
  /** Time for which answers that name edges may be kept, seconds. */
  readonly ttlS: number;
  /** Name to which the certificate authority's question for the zone is passed on (RFC 8555 8.4). */
  readonly acme: Labels | undefined;
}

/** Value of a record. */
export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'NS' | 'CNAME'; readonly target: Labels }
  | { readonly type: 'HINFO'; readonly cpu: string; readonly os: string }
  | {
      readonly type: 'SOA';
      readonly server: Labels;
      readonly mailbox: Labels;
      readonly serial: number;
      readonly refreshS: number;
      readonly retryS: number;
      readonly expireS: number;
      readonly minimumS: number;
    };

/** A record of an answer. */
export interface ZoneRecord {
  readonly owner: Labels;
  readonly ttlS: number;
  readonly data: RecordData;
}

/** An answer to one question. */
export interface ZoneAnswer {
  readonly rcode: Rcode;
  /** True if the question is about this zone. */
  readonly authoritative: boolean;
  readonly answers: readonly ZoneRecord[];
  readonly authority: readonly ZoneRecord[];
  /** Records that may be left out. */
  readonly additional: readonly ZoneRecord[];
  /** True if the answer depends on the choice of edges. */
  readonly namesEdges: boolean;
}

/** Label before the zone under which certificate authorities ask (RFC 8555 8.4). */
const ACME_LABEL = '_acme-challenge';

/**
 * Answers a question.
 *
 * @param name as asked, in lower case
 * @param type number of the type asked for
 * @param edges gives the addresses to name, best first, both families; called at most once
 */
export function answerQuestion(
  zone: Zone,
  name: Labels,
  type: number,
  edges: () => readonly string[],
): ZoneAnswer {
  const below = labelsBelow(zone.name, name);
  if (below === undefined || type === TYPE.AXFR || type === TYPE.IXFR) {
    return { ...NOTHING, rcode: RCODE.REFUSED, authoritative: false };
  }
  const found = find(zone, name, below);
  if (found === 'no such name') return negative(zone, RCODE.NXDOMAIN);
  // RFC 8482 4.2: one small record instead of all of them.
  if (type === TYPE.ANY) return positive([{ owner: name, ttlS: SERVER_TTL_S, data: MINIMAL }]);
  if (found === 'edges') return answerEdges(zone, name, type, edges);
  if (found === 'challenge') {
    const target = zone.acme as Labels;
    return positive([{ owner: name, ttlS: zone.ttlS, data: { type: 'CNAME', target } }]);
  }
  const own = addressRecords(name, found, type, SERVER_TTL_S);
  return own.length > 0 ? positive(own) : negative(zone, RCODE.NOERROR);
}

const NOTHING = { answers: [], authority: [], additional: [], namesEdges: false } as const;
const MINIMAL: RecordData = { type: 'HINFO', cpu: 'RFC8482', os: '' };

function positive(answers: readonly ZoneRecord[]): ZoneAnswer {
  return { ...NOTHING, rcode: RCODE.NOERROR, authoritative: true, answers };
}

/** RFC 2308 3: the SOA record in the answer says for how long there is nothing. */
function negative(zone: Zone, rcode: Rcode): ZoneAnswer {
  return { ...NOTHING, rcode, authoritative: true, authority: [soa(zone)] };
}

function soa({ name, servers, ttlS }: Zone): ZoneRecord {
  const data = {
    type: 'SOA',
    server: servers[0]?.name ?? name,
    mailbox: ['hostmaster', ...name],
    // Nobody copies the zone, so its version says nothing.
    serial: 1,
    refreshS: REFRESH_S,
    retryS: RETRY_S,
    expireS: EXPIRE_S,
    minimumS: ttlS,
  } as const;
  return { owner: name, ttlS, data };
}

/**
 * Finds what a name of the zone stands for (RFC 4592): edges; the question of a certificate
 * authority; the addresses of a server of the zone, none for a name above one; or nothing, for
 * names below a server's.
 */
function find(
  { servers, name: zone, acme }: Zone,
  name: Labels,
  below: Labels,
): 'edges' | 'challenge' | 'no such name' | readonly string[] {
  if (below.length === 0) return 'edges';
  if (acme !== undefined && below.length === 1 && below[0] === ACME_LABEL) return 'challenge';
  for (const server of servers) {
    const own = labelsBelow(zone, server.name);
    if (own === undefined || own.length === 0) continue;
    if (labelsBelow(server.name, name)?.length === 0) return server.addresses;
    // The name lies on the way to a server, or below one: no wildcard covers it.
    if (labelsBelow(name, server.name) !== undefined) return [];
    const [nearest] = own.slice(-1);
    if (below.at(-1) === nearest) return 'no such name';
  }
  return 'edges';
}

function answerEdges(
  zone: Zone,
  name: Labels,
  type: number,
  edges: () => readonly string[],
): ZoneAnswer {
  const { servers, ttlS } = zone;
  const isApex = name.length === zone.name.length;
  if (type === TYPE.A || type === TYPE.AAAA) {
    const addresses = edges();
    const answers = addressRecords(name, addresses, type, ttlS);
    if (answers.length > 0) return { ...positive(answers), namesEdges: true };
    // No edge is known: another server of the zone may know some.
    if (addresses.length === 0) return { ...NOTHING, rcode: RCODE.SERVFAIL, authoritative: false };
    return { ...negative(zone, RCODE.NOERROR), namesEdges: true };
  }
  if (isApex && type === TYPE.NS) {
    const answers = servers.map((server) => {
      const data = { type: 'NS', target: server.name } as const;
      return { owner: name, ttlS: SERVER_TTL_S, data };
    });
    const additional = servers.flatMap((server) =>
      [TYPE.A, TYPE.AAAA].flatMap((of) =>
        addressRecords(server.name, server.addresses, of, SERVER_TTL_S),
      ),
    );
    return { ...positive(answers), additional };
  }
  if (isApex && type === TYPE.SOA) return positive([soa(zone)]);
  return negative(zone, RCODE.NOERROR);
}

function addressRecords(
  owner: Labels,
  addresses: readonly string[],
  type: number,
  ttlS: number,
): ZoneRecord[] {
  const family = type === TYPE.A ? 'A' : type === TYPE.AAAA ? 'AAAA' : undefined;
  if (family === undefined) return [];
  const own = addresses.filter((address) => address.includes(':') === (family === 'AAAA'));
  return own.map((address) => ({ owner, ttlS, data: { type: family, address } }));
}
