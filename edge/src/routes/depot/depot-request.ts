/** A request of the depot on its way, and what its handlers share. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import type { Owner } from '@millrace/shared/cdn/depot/owners-file';
import type { UploadLimits } from '@millrace/shared/http/fields/upload-fields';
import type { Exchange } from '../../clients/exchanges.ts';
import type { Allocation } from '../../depot/allocation.ts';
import type { ClientUse } from '../../depot/client-use.ts';
import type { Depot } from '../../depot/depot.ts';
import type { Puller } from '../../depot/pull/puller.ts';
import type { Owners } from '../../policy/depot-owners.ts';

/** Parts of the node that requests of the depot need. */
export interface DepotParts {
  readonly depot: Depot;
  readonly owners: Owners;
  /** Fetches what clients ask it to store. */
  readonly puller: Puller;
  readonly publicUrl: string | undefined;
  /** Longest lease. */
  readonly maxLeaseMs: Millis;
  /** Called with the number of bytes that have come from a client. */
  readonly onBytes: (bytes: number) => void;
  /** Monotonic and Unix milliseconds. */
  readonly now: () => Millis;
  readonly wallClock: () => Millis;
}

export interface DepotRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly exchange: Exchange;
  readonly options: DepotParts;
  readonly use: ClientUse;
  /** Upload that problems are about, and the offset that the request has stated. */
  about: { readonly allocation: Allocation; readonly stated?: number } | undefined;
}

const USUAL_LEASE_MS: Millis = 7 * 86_400_000;

/** Returns the time for which an owner's file is stored if the request names none. */
export function usualLease({ options: { maxLeaseMs } }: DepotRequest, { forMs }: Owner): Millis {
  return Math.min(USUAL_LEASE_MS, maxLeaseMs, forMs);
}

/** Returns the limits of an upload. */
export function uploadLimits(
  { options: { depot, wallClock } }: Pick<DepotRequest, 'options'>,
  allocation: Allocation,
): UploadLimits {
  const left = allocation.head.expiresAt - wallClock();
  return { maxSize: depot.space.maxSize(allocation), maxAge: Math.max(0, Math.floor(left / 1000)) };
}

/** Sends a document, which is not to be kept by any cache. */
export function sendJson(
  res: ServerResponse,
  status: number,
  document: object,
  fields: Readonly<Record<string, string>> = {},
): void {
  const text = `${JSON.stringify(document)}\n`;
  res.writeHead(status, {
    'cache-control': 'no-store',
    ...fields,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
  });
  res.end(text);
}
