/**
 * The one table of the resources that strangers can take from an edge. The documentation, the
 * status, the metrics and the log of refusals all name resources as this table does.
 */

import type { ErrorCode } from '@millrace/shared/base/errors';

import type { SETTINGS } from '../config/settings.ts';

export const MAX_CHECKS_AT_ONCE = 4;
/** TCP connections of resolvers at a time, and those that one of them keeps while it uses them. */
export const DNS_CONNECTIONS = 256;
export const DNS_CLIENT_CONNECTIONS = 16;

/** Uploads to the depot under way: of one client, and of all together. */
export const CLIENT_APPENDS = 8;
export const APPENDS = 256;
/** Pulls of the depot under way: of one owner, and of all together. */
export const OWNER_PULLS = 4;
export const PULLS = 32;
/** Wrong capabilities and owners' tokens that one client may present per minute. */
export const GUESSES_PER_MINUTE = 10;

/** One row of the table. */
export interface ResourceRow {
  /** The thing counted or weighed, a noun phrase. */
  readonly what: string;
  /** Limits for one client and for all together: an option, or words if no option sets it. */
  readonly perClient: LimitSource | undefined;
  readonly forAll: LimitSource | undefined;
  /** Consequence when there is no more, one sentence. */
  readonly full: string;
  /** Error codes of refused requests. */
  readonly codes: readonly ErrorCode[];
}

/** An option that sets a limit, or a limit that is fixed. */
export type LimitSource = { readonly option: keyof typeof SETTINGS } | { readonly fixed: string };

export const RESOURCES = {
  connections: {
    what: 'connections of clients',
    perClient: { option: 'client-connections' },
    forAll: { option: 'max-connections' },
    full: 'An idle connection is closed: of the client with most, the one that has been idle longest. If none is idle, the client with most loses its newest connection, provided that it has more than its share. Otherwise the new connection is closed.',
    codes: [],
  },
  requests: {
    what: 'requests for files per second',
    perClient: { option: 'client-requests' },
    forAll: undefined,
    full: 'The request is refused.',
    codes: ['too-many-requests'],
  },
  transfers: {
    what: 'transfers under way',
    perClient: { option: 'client-transfers' },
    forAll: undefined,
    full: 'The request is refused.',
    codes: ['too-many-transfers'],
  },
  rate: {
    what: 'bytes sent per second',
    perClient: { option: 'client-rate' },
    forAll: undefined,
    full: 'The transfer is delayed.',
    codes: [],
  },
  fetched: {
    what: 'bytes that origins had to send beyond what the client took',
    perClient: { option: 'max-amplification' },
    forAll: undefined,
    full: 'The request is refused.',
    codes: ['too-much-fetched'],
  },
  origins: {
    what: 'origins with requests under way',
    perClient: { option: 'max-origins' },
    forAll: { option: 'max-origins' },
    full: 'One client has at most a quarter. When all are in use, the client with most is refused, or loses its newest one to a client with fewer.',
    codes: ['too-many-origins'],
  },
  newOrigins: {
    what: 'origins asked per minute that the client has not used lately',
    perClient: { option: 'client-origins' },
    forAll: undefined,
    full: 'The request is refused. Holders of the local token and other nodes are not counted, nor trusted proxies that name no client.',
    codes: ['too-many-origins'],
  },
  originUse: {
    what: 'transfers and bytes of one origin',
    perClient: undefined,
    forAll: { option: 'rules-file' },
    full: 'The request is refused, or the transfer delayed where the rule is a rate.',
    codes: ['quota-exhausted', 'origin-busy'],
  },
  memory: {
    what: 'bytes held for clients, caches and bookkeeping',
    perClient: undefined,
    forAll: { option: 'max-memory' },
    full: 'New transfers are refused, and waiting ones of clients with others; idle connections are closed, and the slowest readers are reset.',
    codes: ['out-of-memory'],
  },
  ownRequests: {
    what: 'requests for own pages and endpoints per second',
    perClient: { option: 'own-requests' },
    forAll: undefined,
    full: 'The request is refused. Health checks of this machine and of trusted proxies, administrators and other nodes are not counted.',
    codes: ['too-many-requests'],
  },
  checks: {
    what: 'links that the page for publishers checks',
    perClient: { fixed: 'one every 2 s, 20 at once' },
    forAll: { fixed: `${MAX_CHECKS_AT_ONCE} under way` },
    full: 'The request is refused.',
    codes: ['too-many-requests'],
  },
  guesses: {
    what: 'wrong tokens at the log-in of the dashboard',
    perClient: { fixed: 'a pause that grows with each' },
    forAll: undefined,
    full: 'The log-in is refused for a while.',
    codes: ['token-required'],
  },
  depotBytes: {
    what: 'bytes reserved or stored in the depot',
    perClient: { option: 'depot-owners-file' },
    forAll: { option: 'depot-quota' },
    full: 'The allocation is refused. Limits are those of owners, whatever their addresses.',
    codes: ['allocation-refused'],
  },
  appends: {
    what: 'uploads to the depot under way',
    perClient: { fixed: `${CLIENT_APPENDS}` },
    forAll: { fixed: `${APPENDS}` },
    full: 'The upload is refused, and may be continued later. One that is slower than 16 KiB/s, with pauses of up to 30 s, is ended.',
    codes: ['too-many-transfers', 'upload-too-slow'],
  },
  pulls: {
    what: 'files that the depot fetches from elsewhere, under way',
    perClient: { fixed: `${OWNER_PULLS} of one owner` },
    forAll: { fixed: `${PULLS}` },
    full: 'The pull is refused, and may be posted later. Limits are those of owners, whatever their addresses. A source that is slower than 16 KiB/s, with pauses of up to 30 s, is left.',
    codes: ['too-many-transfers'],
  },
  capabilities: {
    what: 'wrong links and tokens at the depot per minute',
    perClient: { fixed: `${GUESSES_PER_MINUTE}` },
    forAll: undefined,
    full: 'Further wrong ones are refused; right ones are always served.',
    codes: ['too-many-requests'],
  },
  dnsAnswers: {
    what: 'answers by UDP per second to a network that has shown no cookie',
    perClient: { option: 'dns-rate' },
    forAll: undefined,
    full: 'Every second answer is truncated, no larger than its question, so that a resolver asks again by TCP; the others are left out.',
    codes: [],
  },
  dnsConnections: {
    what: 'TCP connections of resolvers',
    perClient: { fixed: `${DNS_CLIENT_CONNECTIONS} while all are taken` },
    forAll: { fixed: `${DNS_CONNECTIONS}` },
    full: 'As with connections of clients.',
    codes: [],
  },
} as const satisfies Record<string, ResourceRow>;

/** A resource of the table. */
export type Resource = keyof typeof RESOURCES;

export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly Resource[];
