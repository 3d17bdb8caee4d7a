/** Answers requests for a file that another node's depot keeps: from chunks, as any other file. */

import type { Millis } from '@millrace/shared/base/clock';
import { isMillraceError } from '@millrace/shared/base/errors';
import { versionTag } from '@millrace/shared/cdn/chunks/version-tag';
import { depotFileUrl, FRESH_MS } from '@millrace/shared/cdn/depot/depot-file';
import type { DepotLink } from '@millrace/shared/http/urls/depot-link';
import type { DepotFiles, KnownFile } from '../../agent/depot-files.ts';
import type { Exchange } from '../../clients/exchanges.ts';
import type { ClientUse } from '../../depot/client-use.ts';
import type { Pointer } from '../../files/file-version.ts';
import { receivePage } from '../../pages/receive-page.ts';
import { type SendFileOptions, sendFile } from '../send/send-file.ts';
import { fileFields } from './download.ts';
import { isEncryptedDocument, isOpened, sendPage } from './opened.ts';

export interface NetworkFileOptions extends SendFileOptions {
  /** Files of the depots of other nodes. */
  readonly files: DepotFiles;
}

/**
 * Answers a request for the file of a link.
 *
 * @throws MillraceError those of `DepotFiles.find`, `ClientUse.onWrong` and `sendFile`
 */
export async function sendFromNetwork(
  o: NetworkFileOptions,
  use: ClientUse,
  exchange: Exchange,
  link: DepotLink,
): Promise<void> {
  const { controller, req } = exchange;
  const file = await findInNetwork(o, use, exchange, link);
  if (isEncryptedDocument(file.name) && isOpened(req)) {
    return sendPage(exchange, 200, await receivePage());
  }
  const ended = o.files.use(file, controller);
  try {
    const now = o.wallClock();
    const ttlSeconds = Math.floor((Math.min(file.askedAt + FRESH_MS, file.leaseEnd) - now) / 1000);
    await sendFile(o, exchange, pointerTo(file, now), { hit: true, ttlSeconds });
  } finally {
    ended();
  }
}

/**
 * Finds the file of a link, and counts what costs the depot a question and brings no file.
 *
 * @throws MillraceError those of `DepotFiles.find` and `ClientUse.onWrong`
 */
export async function findInNetwork(
  { files, now }: Pick<NetworkFileOptions, 'files' | 'now'>,
  use: ClientUse,
  { clientKey, controller: { signal } }: Exchange,
  link: DepotLink,
): Promise<KnownFile> {
  try {
    return await files.find(link, signal, () => use.mayGuess(clientKey, now()));
  } catch (error) {
    // Clients that leave before the answer could guess without end.
    const costs = isMillraceError(error, 'no-such-allocation') || signal.aborted;
    // Where no node is asked, guesses cost nobody anything.
    if (costs && files.mayFind(link.id)) use.onWrong(clientKey, now());
    throw error;
  }
}

/** @param now Unix milliseconds */
function pointerTo(file: KnownFile, now: Millis): Pointer {
  const { id, length, sha256, leaseEnd: expiresAt } = file;
  const fields = fileFields({ ...file, expiresAt }, { sha256 }, now);
  return pointerWith(depotFileUrl(id), length, fields, now);
}

/**
 * Makes the pointer to a file of depots.
 *
 * @param fields its header, with a strong entity tag
 * @param now Unix milliseconds
 */
export function pointerWith(
  url: string,
  length: number,
  fields: Readonly<Record<string, string>>,
  now: Millis,
): Pointer {
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
