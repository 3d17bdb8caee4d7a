/** Answers requests for a file that another node's depot keeps: from chunks, as any other file. */

import { versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import { depotFileUrl, FRESH_MS } from '@millrace/shared/cdn/depot/depot-file';
import type { DepotLink } from '@millrace/shared/http/urls/depot-link';
import type { DepotFiles, KnownFile } from '../../agent/depot-files.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import type { ClientUse } from '../../depot/client-use.ts';
import type { Pointer } from '../../files/file-version.ts';
import { type SendFileOptions, sendFile } from '../send-file.ts';
import { fileFields } from './download.ts';

export interface NetworkFileOptions extends SendFileOptions {
  /** Files of the depots of other nodes. */
  readonly files: DepotFiles;
}

/**
 * Answers a request for the file of a link.
 *
 * @throws MillraceError those of `DepotFiles.find` and `sendFile`
 */
export async function sendFromNetwork(
  o: NetworkFileOptions,
  use: ClientUse,
  exchange: Exchange,
  link: DepotLink,
): Promise<void> {
  const { clientKey, controller } = exchange;
  const mayGuess = () => use.mayGuess(clientKey, o.now());
  const file = await o.files.find(link, controller.signal, mayGuess);
  const ended = o.files.use(file, controller);
  try {
    const now = o.wallClock();
    const ttlSeconds = Math.floor((Math.min(file.askedAt + FRESH_MS, file.leaseEnd) - now) / 1000);
    await sendFile(o, exchange, pointerTo(file, now), { hit: true, ttlSeconds });
  } finally {
    ended();
  }
}

/** @param now Unix milliseconds */
function pointerTo({ id, length, sha256, name, type, leaseEnd }: KnownFile, now: number): Pointer {
  const url = depotFileUrl(id);
  const fields = fileFields({ id, name, type, expiresAt: leaseEnd }, { sha256 }, now);
  const validators = { etag: fields.etag as string };
  const tag = versionTag(validators, length) as string;
  return {
    version: { url, scope: 'public', length, validators, tag, fields },
    // The fields say how long caches may keep it, counted from now.
    freshness: {
      ...{ notStorable: undefined, initialAgeMs: 0, arrivedAt: now },
      ...{ lifetimeMs: 0, staleIfErrorMs: 0 },
    },
    finalUrl: url,
  };
}
