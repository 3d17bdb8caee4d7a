/** Downloads a file in one piece, because its ranges cannot be shown to belong to one version. */

import { basename } from 'node:path';
import { asMillraceError, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Note } from '@millrace/shared/base/notes';
import { noteOf, noteOfError } from '@millrace/shared/base/notes';
import { formatBytes } from '@millrace/shared/base/units';
import type { Statement } from '@millrace/shared/download/metalink/description-merge';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import { FileCheck } from '../hash/file-check.ts';
import type { Vouching } from '../signatures/vouching.ts';
import type { Connections } from '../sources/connections.ts';
import { ENDING, vouchingFor } from '../sources/sidecars.ts';
import type { DownloadWay } from './download-way.ts';
import { SingleStream } from './single-stream.ts';
import type { Checked } from './target-file.ts';

/**
 * Fetches the file to its end and checks it.
 *
 * @returns its length in bytes, and what it was checked against
 * @throws MillraceError; the signal's reason
 */
export async function streamDownload(
  way: DownloadWay,
  connections: Connections,
): Promise<Checked & { readonly length: number }> {
  const { report, sources, first, file, pool, session } = way;
  report.setState('running');
  const stream = new SingleStream({
    file,
    source: first.source,
    sources,
    pool,
    session,
  });
  const length = await stream.run(first.opened);
  return { length, ...(await checkWhole(way, connections, length)) };
}

/**
 * Checks digest and pieces: a bad piece of a file that came in one piece cannot be fetched again.
 */
async function checkWhole(
  { request, context, first, target, file, said, report }: DownloadWay,
  connections: Connections,
  length: number,
): Promise<Checked> {
  const { digests, pieces } = request;
  const { source, opened } = first;
  const { random, ownKeys, signal } = context;
  const name = basename(file.path);
  const onNote = report.noteOnce;
  const own = { request, connections, source, name, random, ownKeys, signal, onNote };
  const vouching = await vouchingFor(own);
  const found = await lookBeside(vouching, onNote, signal);
  const check = new FileCheck(
    [
      { by: 'the user', digests, pieces: pieces === undefined ? [] : [pieces] },
      ...found,
      ...said.map(({ by, digest }) => ({ by, digests: [digest] })),
      {
        by: source.label,
        digests: fileDigests(opened.headers, opened.kind === 'whole' ? 200 : 206),
      },
    ],
    vouching?.digest,
  );
  const checked = await target.check(check, length, vouching);
  if (!check.needed) return checked;
  const bad = await check.badPieces(target.hasher, length, context.signal);
  if (bad.length === 0) {
    const bytes = check.unproven(length);
    if (bytes > 0) report.note(noteOf('not-all-checked', { bytes: formatBytes(bytes) }));
    return checked;
  }
  await target.discard();
  throw new MillraceError('checksum-mismatch', {
    code: 'pieces-differ',
    values: { n: bad.length },
  });
}

/** Reads what is beside the file. @throws MillraceError of a signature or key; the signal's reason */
async function lookBeside(
  vouching: Vouching | undefined,
  onNote: (note: Note) => void,
  signal: AbortSignal,
): Promise<readonly Statement[]> {
  try {
    return (await vouching?.look()) ?? [];
  } catch (error) {
    signal.throwIfAborted();
    if (isMillraceError(error) && ENDING.has(error.code)) throw error;
    onNote(noteOfError('failed', asMillraceError(error)));
    return [];
  }
}
