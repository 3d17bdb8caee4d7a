/**
 * Takes edges that were found on the local network as sources. Nobody has named them: they are asked only
 * for a file that anybody may have, and only if a digest of it shows whether their bytes are right.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { Random } from '@millrace/shared/base/clock';
import type { Detail } from '@millrace/shared/base/error-table/particulars';
import { type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import { noteReason } from '@millrace/shared/download/request/home-reason';
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
const SWITCHED_OFF = new MillraceError('source-refused', { code: 'house-off' });
/** Failures which show that an edge may have brought wrong bytes. */
const WRONG: ReadonlySet<ErrorCode> = new Set(['wrong-digest', 'checksum-mismatch']);
const READ_EARLY = new MillraceError('source-refused', { code: 'house-read-early' });
const NO_DIGEST: Detail = { code: 'home-no-digest' };

/** Uses the edges that are there, and those that are found while the download runs. */
export async function takeHouse(options: HouseSourcesOptions): Promise<void> {
  const { house, connections, first, random, signal, statements, onSource, onNote } = options;
  const reason = await connections.whyNotHouse({ status: 200, headers: first.opened.headers });
  if (reason === undefined && !connections.digestKnown) await statements();
  const why = reason ?? (connections.digestKnown ? undefined : NO_DIGEST);
  const used = new Set<string>();
  const use = (edge: HouseEdge) => {
    if (signal.aborted || used.has(edge.url) || used.size === MAX_HOUSE_EDGES) return;
    if (why !== undefined) return onNote(noteOf('house-not-asked', noteReason(why)));
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

export interface HousePartOptions {
  readonly sources: { readonly sources: readonly DownloadSource[] };
  /** Forgets a range of the file, which is fetched again then. */
  readonly forget: (range: ByteRange) => Promise<void>;
  /** True if somebody reads the file while it is fetched. */
  readonly isRead: boolean;
  readonly onNote: (note: Note) => void;
}

/** The part that edges of the house have in a file, and how the file gets rid of it. */
export class HousePart {
  readonly #options: HousePartOptions;
  #isRead: boolean;

  constructor(options: HousePartOptions) {
    this.#options = options;
    this.#isRead = options.isRead;
  }

  /** True if any byte of the file came from such an edge. */
  get brought(): boolean {
    return this.#sources.some(({ given }) => given.bytes > 0);
  }

  /** Returns whether a source may bring bytes; one that may not is excluded. */
  admits({ kind, health }: DownloadSource): boolean {
    const may = kind !== 'house' || !this.#isRead;
    if (!may) health.quarantineFor(READ_EARLY);
    return may;
  }

  /** Nobody may read bytes of strangers before the digest of the whole file has proven them. */
  async onRead(): Promise<void> {
    if (this.#isRead) return;
    this.#isRead = true;
    await this.#leave(READ_EARLY);
  }

  /** Excludes the edges after the file was wrong. @returns false if they brought nothing */
  async onWrong(error: MillraceError): Promise<boolean> {
    const left = await this.#leave(error);
    if (left) this.#options.onNote(noteOf('house-was-wrong'));
    return left;
  }

  /** Excludes the edges, and forgets what they brought. @returns false if it was nothing */
  async #leave(error: MillraceError): Promise<boolean> {
    let brought = false;
    for (const { given, health } of this.#sources) {
      health.quarantineFor(error);
      for (const range of [...given.ranges]) {
        given.remove(range);
        await this.#options.forget(range);
        brought = true;
      }
    }
    return brought;
  }

  get #sources(): readonly DownloadSource[] {
    return this.#options.sources.sources.filter(({ kind }) => kind === 'house');
  }
}
