/**
 * Takes edges that were found on the local network as sources. Nobody has named them: they are asked only
 * for a file that anybody may have, and only if a digest of it shows whether their bytes are right.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import type { HouseEdge } from '@millrace/shared/house/house-list';
import type { House } from '../edges/house-edges.ts';
import type { Connections } from './connections.ts';
import type { DownloadSource } from './download-source.ts';
import type { First } from './opening.ts';

export interface HouseSourcesOptions {
  readonly house: House;
  readonly connections: Connections;
  /** The origin's answer. */
  readonly first: First;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Resolves once all that is said about the file is known. */
  readonly statements: () => Promise<unknown>;
  readonly onSource: (source: DownloadSource) => void;
  readonly onNote: (note: Note) => void;
}

/** Most edges of the house for one download: more of them do not make it faster. */
const MAX_HOUSE_EDGES = 8;
const SWITCHED_OFF = new MillraceError('source-refused', 'edges in this house are switched off');
/** Failures which show that an edge may have brought wrong bytes. */
const WRONG: ReadonlySet<ErrorCode> = new Set(['wrong-digest', 'checksum-mismatch']);
const NO_DIGEST = 'no checksum shows whether their bytes are right';

/** Uses the edges that are there, and those that are found while the download runs. */
export async function takeHouse(options: HouseSourcesOptions): Promise<void> {
  const { house, connections, first, random, signal, statements, onSource, onNote } = options;
  const reason = await connections.whyNotHouse({ status: 200, headers: first.opened.headers });
  if (reason === undefined && !connections.digestKnown) await statements();
  const why = reason ?? (connections.digestKnown ? undefined : NO_DIGEST);
  const used = new Set<string>();
  const use = (edge: HouseEdge) => {
    if (signal.aborted || used.has(edge.url) || used.size === MAX_HOUSE_EDGES) return;
    if (why !== undefined) return onNote(noteOf('house-not-asked', { why }));
    used.add(edge.url);
    const source = connections.house(edge, first.source.url, random);
    const seeEnd = () => {
      const code = source.health.quarantine?.code;
      if (code !== undefined && WRONG.has(code)) house.onWrong(edge);
    };
    signal.addEventListener('abort', seeEnd, { once: true });
    house.closed.addEventListener('abort', () => source.health.quarantineFor(SWITCHED_OFF), {
      signal,
    });
    onSource(source);
  };
  const end = house.onFound(use);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  for (const edge of house.edges) use(edge);
}

/**
 * Excludes the edges of the house from a download whose file was wrong, and forgets what they brought.
 *
 * @param forget forgets a range of the file, which is fetched again then
 * @returns false if they brought nothing
 */
export async function leaveHouse(
  sources: readonly DownloadSource[],
  error: MillraceError,
  forget: (range: ByteRange) => Promise<void>,
): Promise<boolean> {
  let brought = false;
  for (const { kind, given, health } of sources) {
    if (kind !== 'house') continue;
    health.quarantineFor(error);
    for (const range of [...given.ranges]) {
      await forget(range);
      given.remove(range);
      brought = true;
    }
  }
  return brought;
}
