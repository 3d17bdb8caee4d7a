/** Commands of administrators, in the form that processes and nodes pass on to each other. */

import { MAX_URL_CHARS } from '@millrace/shared/base/limits';
import { MAX_REVOKED } from '@millrace/shared/cdn/admission/revocations';
import { MAX_NETWORK_PINS } from '@millrace/shared/cdn/upkeep/network-pins';
import { MAX_LOGGED } from '@millrace/shared/cdn/upkeep/purge-log';
import { isTarget, type PurgeTarget } from '@millrace/shared/cdn/upkeep/purge-target';
import * as z from 'zod';

/** Longest time that a file can be pinned for. */
const MAX_LEASE_SECONDS = 365 * 24 * 3600;

const url = z.string().min(1).max(MAX_URL_CHARS);
const time = z.number().min(0).max(1e15);
const bytes = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const hex64 = z.string().regex(/^[0-9a-f]{64}$/, 'must have 64 hexadecimal digits');
const seconds = z.number().min(1, 'must be at least 1').max(MAX_LEASE_SECONDS);
const network = z.boolean().optional();
export const ID = z.string().regex(/^[A-Za-z0-9~-]{1,64}$/);

const ID_OF_SESSION = z.string().regex(/^[A-Za-z0-9_-]{16}$/);

export const TARGET = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('url'), url }),
    z.object({ kind: z.literal('version'), url, tag: z.string().max(1000) }),
    z.object({ kind: z.literal('prefix'), prefix: url }),
    z.object({ kind: z.literal('label'), label: z.string().max(200) }),
    z.object({ kind: z.literal('all') }),
  ])
  .refine((target) => isTarget(target as PurgeTarget), 'is not in its canonical form');

export const LOGGED = z.object({ target: TARGET, id: ID, at: time });
export const DROPPED = z.object({
  at: time,
  id: ID.or(z.literal('')),
  digest: z.string().regex(/^[0-9a-f]{16}$/),
});
/** A log of purges, as a node tells it. */
export const PURGE_LOG = z.object({
  dropped: DROPPED,
  purges: z.array(LOGGED).max(MAX_LOGGED),
});

/** Contents of a request for a pin. */
const PIN_REQUEST = z.object({
  id: ID,
  url,
  bytes,
  tag: z.string().max(1000),
  length: bytes,
  /** SHA-256 of the capability. */
  proof: hex64,
});
export const PIN = PIN_REQUEST.extend({ expiresAt: time });
export const NETWORK_PIN = PIN.extend({ at: time, until: time });
/** Pins of the network, as a node tells them. */
export const PIN_LIST = z.object({ pins: z.array(NETWORK_PIN).max(MAX_NETWORK_PINS) });

export const PURGE_BODY = z.union(
  [
    z.strictObject({ url, version: z.string().max(1000).optional(), network }),
    z.strictObject({ prefix: url, network }),
    z.strictObject({ label: z.string().max(200), network }),
    z.strictObject({ all: z.literal(true), network }),
  ],
  'exactly one of url (with or without version), prefix, label or "all": true is needed; only network may be added',
);

export const PREFETCH_BODY = z.strictObject({
  url,
  /** Bytes per second, at most. */
  rate: z.int().min(1024).optional(),
  /** SHA-256 that the file must have. */
  sha256: hex64.optional(),
});

export const PIN_BODY = z.strictObject({
  url,
  seconds,
  bytes: bytes.optional(),
  prefetch: z.boolean().optional(),
  network,
});
export const LEASE_BODY = z.strictObject({ seconds, network });

/** Sessions of the dashboard that have ended before their time. */
export const REVOCATIONS = z.object({
  until: time,
  sessions: z.array(z.tuple([ID_OF_SESSION, time])).max(MAX_REVOKED),
});

/** Commands that one process carries out by itself. */
export const COMMAND = z.discriminatedUnion('do', [
  /** @property network the purge goes into the log that all nodes share */
  z.object({ do: z.literal('purge'), purge: LOGGED, network: z.boolean() }),
  /** @property at time of a request for the whole network: all nodes count the lease from then */
  z.object({ do: z.literal('pin'), pin: PIN_REQUEST, forMs: time, at: time.optional() }),
  z.object({ do: z.literal('extend'), id: ID, forMs: time, at: time.optional() }),
  z.object({ do: z.literal('release'), id: ID, at: time.optional() }),
  z.object({ do: z.literal('prefetches') }),
  z.object({ do: z.literal('stop'), id: ID }),
  z.object({ do: z.literal('log-out'), ending: REVOCATIONS }),
]);
export type Command = z.infer<typeof COMMAND>;

/** Outcome of a command in one process. */
export const OUTCOME = z.union([
  z.object({ ok: z.literal(true), value: z.unknown() }),
  z.object({ ok: z.literal(false), code: z.string().max(100), detail: z.string().max(1000) }),
]);
export type Outcome = z.infer<typeof OUTCOME>;
