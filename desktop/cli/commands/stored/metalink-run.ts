/** Describes a stored file for programs that know no exNodes (RFC 5854). */

import { MillraceError } from '@millrace/shared/base/errors';
import { describeDownload } from '@millrace/shared/download/metalink/described-request';
import {
  type FileDescription,
  LAST_PRIORITY,
  type Metaurl,
} from '@millrace/shared/download/metalink/description';
import { safeFileName } from '@millrace/shared/download/request/file-name';
import { EXNODE_TYPE, type Exnode } from '@millrace/shared/exnode/exnode';
import { wholeFiles } from '@millrace/shared/exnode/places';
import { splitLink } from '@millrace/shared/exnode/seal';
import { documentLinkOf } from '@millrace/shared/http/urls/depot-link';
import { fileLinks } from '../../../engine/upload/file-links.ts';
import type { CliContext } from '../../console/context.ts';
import { readExnode } from '../../options/exnode-request.ts';
import { isLink } from '../../options/named-document.ts';

/**
 * Describes the file of an exNode. Its URLs are those of depots with all of the file; without any, links
 * to the file at edges that put it together, and the exNodes there.
 *
 * @param given path or link of the exNode
 * @param first URLs to name before those of depots
 * @throws MillraceError `bad-option` for encrypted files, and if no URL gives the whole file; as
 *   `readExnode`
 */
export async function describeStored(
  given: string,
  first: readonly string[],
  { cwd, signal }: CliContext,
): Promise<FileDescription> {
  const exnode = await readExnode(given, cwd, signal);
  const { sealed, name, size, sha256, blocks } = exnode;
  if (sealed !== undefined) {
    const why = 'the file is encrypted: programs that know no exNodes would save its ciphertext';
    throw new MillraceError('bad-option', why);
  }
  const wholes = wholeFiles(exnode, Date.now());
  const put = wholes.length > 0 ? undefined : await putTogether(exnode, given, signal);
  const urls = [...first, ...wholes.map(({ url }) => url), ...(put?.files ?? [])];
  if (urls.length === 0) {
    const why = 'no depot has the whole file, and no edge puts it together';
    throw new MillraceError('bad-option', `${why}: only "millrace get" downloads it`);
  }
  const described = describeDownload({
    ...{ name: safeFileName(name), size, urls },
    digests: sha256 === undefined ? [] : [{ algorithm: 'sha256', hex: sha256 }],
    ...(size === 0 ? {} : { pieces: blocks }),
  });
  const ends = new Map(wholes.map(({ url, expires }) => [url, expires]));
  const replicas = described.replicas.map((one) => ({ ...one, expires: ends.get(one.url) }));
  const metaurls = (put?.documents ?? []).map((url): Metaurl => {
    return { url, priority: LAST_PRIORITY, mediaType: EXNODE_TYPE };
  });
  return { ...described, replicas, metaurls };
}

/** Finds links to the file of an exNode, and those to the exNode itself, that may be given away. */
async function putTogether(exnode: Exnode, given: string, signal: AbortSignal) {
  const link = isLink(given) ? splitLink(given).link : undefined;
  const copies = link === undefined ? [] : [{ read: documentLinkOf(link) ?? link, at: 0 }];
  const documents = exnode.documents ?? copies;
  const { files } = await fileLinks(exnode, documents, signal);
  return { files, documents: documents.map(({ read }) => read) };
}
