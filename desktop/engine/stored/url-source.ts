/** Looks at a file that depots are to pull from its URL: its length, its version, what is said of it. */

import { createHash, randomUUID } from 'node:crypto';
import { MillraceError } from '@millrace/shared/base/errors';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import { REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { parseOriginUrl } from '@millrace/shared/http/urls/prefixed-url';
import { Connections } from '../sources/connections.ts';

export interface UrlSource {
  readonly url: string;
  /** Name of the file, by its URL. */
  readonly name: string;
  readonly bytes: number;
  /** Strong entity tag, quotes included. */
  readonly etag: string | undefined;
  /** Names the version: two runs with one name go on with one file. Without a validator, each run has its own. */
  readonly versionId: string;
  /** SHA-256 that the server states, hexadecimal. */
  readonly sha256: string | undefined;
}

/**
 * Asks for the first byte of a file.
 *
 * @throws MillraceError `bad-url`, `credentials-in-url`; `bad-option` for files that depots cannot pull:
 *   empty ones, and those of servers without ranges; those of the server and the network
 */
export async function lookAtUrl(text: string, signal: AbortSignal): Promise<UrlSource> {
  const { href: url } = parseOriginUrl(text);
  const request = { ...REQUEST_DEFAULTS, urls: [url], dir: '' };
  const connections = await Connections.open(request);
  try {
    const source = connections.source('origin', url, Math.random);
    const opened = await source.openRange({ start: 0, end: 1 }, undefined, signal);
    opened.discard();
    if (opened.kind === 'whole') {
      const why = opened.length === 0 ? 'the file is empty' : 'its server sends no ranges';
      const what = `${why}, so depots cannot pull it`;
      throw new MillraceError('bad-option', `${what}: download it, and upload the file`);
    }
    const { version, headers } = opened;
    const { etag, weakEtag, lastModified } = version.validators;
    const validator = etag ?? weakEtag ?? lastModified ?? randomUUID();
    const named = `${version.length}\n${validator}`;
    return {
      ...{ url, name: nameFromUrl(url), bytes: version.length, etag },
      versionId: createHash('sha256').update(named).digest('hex').slice(0, 32),
      sha256: fileDigests(headers, 206).find(({ algorithm }) => algorithm === 'sha256')?.hex,
    };
  } finally {
    await connections.close();
  }
}
