/**
 * Finds further sources: other edges of the network (NSDI 5.1), mirrors and Metalink documents that
 * the source names (RFC 6249), and lists of digests beside the file. All of them are hints: a
 * source must show that it holds the file, and a failed hint cannot fail a download. Each reader is
 * loaded when it is first needed, because most downloads need none.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { asMillraceError, isMillraceError, type MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOfError } from '@millrace/shared/base/notes';
import type { Statement } from '@millrace/shared/download/metalink/description-merge';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { SourceOptions } from '@millrace/shared/download/scheduler/scheduler';
import type { ChunkOwners, EdgeList } from '../edges/chunk-owners.ts';
import type { House } from '../edges/house-edges.ts';
import type { EdgeMemory } from '../edges/nearest-first.ts';
import type { Vouching } from '../signatures/vouching.ts';
import type { Connections } from './connections.ts';
import type { DownloadSource } from './download-source.ts';
import type { First } from './opening.ts';
import { ENDING } from './sidecars.ts';

export interface DiscoveryOptions {
  readonly request: DownloadRequest;
  readonly connections: Connections;
  readonly first: First;
  /** Base URL of an edge in use that the user has named; undefined if there is none. */
  readonly edge: string | undefined;
  readonly length: number;
  /** Name that the file gets, to find it in Metalink documents. */
  readonly name: string;
  readonly random: Random;
  readonly edgeMemory: EdgeMemory;
  /** Edges on the local network; undefined: they are not used. */
  readonly house: House | undefined;
  /** Finds out who vouches for the file; undefined: there is nothing to look for. */
  readonly vouching: Vouching | undefined;
  readonly signal: AbortSignal;
  readonly onSource: (source: DownloadSource) => void;
  /** Called when the owners of chunks become known, so that `ownership` has changed. */
  readonly onOwners: () => void;
  readonly onNote: (note: Note) => void;
}

/** Longest answer by which an edge is measured. */
const MAX_LIVE_BYTES = 4096;
const MAX_EDGE_LIST_BYTES = 512 * 1024;
const MAX_METALINK_BYTES = 16 * 1024 * 1024;
/** Longest time that a hint may take, ms: the end of a download waits for all of them. */
const HINT_MS = 30_000;
/** Most mirrors to use: more of them only make servers busier, not a download faster. */
const MAX_MIRRORS = 8;

export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #statements: Statement[] = [];
  #owners: ChunkOwners | undefined;
  #mirrors = 0;
  readonly #tasks: Promise<void>[] = [];
  #sidecars: Promise<void> = Promise.resolve();
  #bad: MillraceError | undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    const { request, first, edge, vouching } = options;
    const { digests, pieces } = request;
    this.#statements.push({
      by: 'the user',
      digests,
      pieces: pieces === undefined ? [] : [pieces],
    });
    if (vouching !== undefined) this.#sidecars = this.#task(() => this.#readSidecars(vouching));
    if (first.opened.headers.link !== undefined) this.#task(() => this.#readLinks());
    if (edge !== undefined) this.#task(() => this.#readEdgeList(edge));
    const { house } = options;
    // The origin's own answer says whether anybody may have the file.
    const isUsable = request.direct && request.house === true && first.source.kind === 'origin';
    // The end of the download must not wait for edges that may come.
    if (house !== undefined && isUsable) void this.#beside(() => this.#takeHouse(house));
  }

  /** Returns a function that tells which chunks a source owns, as far as the owners are known. */
  ownership(source: DownloadSource): SourceOptions {
    const owners = this.#owners;
    const node = owners?.nodeOf(source);
    if (owners === undefined || node === undefined) return {};
    return {
      owns: (position) => owners.owns(node, position),
      chunkBytes: owners.chunkBytes,
    };
  }

  /**
   * Resolves with all statements about the file, once every hint has been followed.
   *
   * @throws MillraceError `bad-signature`; `bad-option` for a key that cannot be read
   */
  async statements(): Promise<readonly Statement[]> {
    await Promise.all(this.#tasks);
    if (this.#bad !== undefined) throw this.#bad;
    return this.#statements;
  }

  #task(work: () => Promise<void>): Promise<void> {
    const task = this.#beside(work);
    this.#tasks.push(task);
    return task;
  }

  /** Does work that nothing waits for: it says nothing about the file. Never rejects. */
  #beside(work: () => Promise<void>): Promise<void> {
    return work().catch((error) => {
      if (!this.#options.signal.aborted)
        this.#options.onNote(noteOfError('failed', asMillraceError(error)));
    });
  }

  /** Keeps a statement that was read over a safe connection. */
  #state(statement: Statement): void {
    this.#statements.push(statement);
    if ((statement.digests ?? []).length > 0) this.#options.connections.trustDigest();
  }

  #addMirror(url: string): void {
    const { connections, random, onSource } = this.#options;
    if (this.#mirrors >= MAX_MIRRORS) return;
    this.#mirrors++;
    onSource(connections.source('mirror', url, random));
  }

  async #readLinks(): Promise<void> {
    const { first, request } = this.#options;
    const { parseMirrorLinks } = await import('@millrace/shared/download/metalink/mirror-links');
    const { mirrors, metalinks } = parseMirrorLinks(first.opened.headers, first.source.url);
    const [secure, plain] = [mirrors.filter(isSecure), mirrors.filter((one) => !isSecure(one))];
    if (request.direct) for (const { url } of secure) this.#addMirror(url);
    for (const url of metalinks.slice(0, 1)) await this.#readMetalink(url);
    // Look for a digest first: without one, mirrors over plain http: may be refused for good.
    if (plain.length > 0) await this.#sidecars;
    if (request.direct) for (const { url } of plain) this.#addMirror(url);
  }

  async #readMetalink(url: string): Promise<void> {
    const { connections, random, signal, length, name, first, request } = this.#options;
    const source = connections.source('mirror', url, random);
    const { readSmallFile } = await import('./small-file.ts');
    const { body } = await readSmallFile(source, MAX_METALINK_BYTES, signal, HINT_MS);
    const { parseMetalink } = await import('@millrace/shared/download/metalink/metalink');
    const { files } = parseMetalink(body, url);
    const file = files.length === 1 ? files[0] : files.find((f) => f.name.endsWith(name));
    // The document may describe another version of the file.
    if (file === undefined || (file.size !== undefined && file.size !== length)) return;
    this.#state({ by: url, digests: file.digests, pieces: file.pieces });
    for (const { text } of file.signatures) this.#options.vouching?.give(text);
    if (!request.direct) return;
    for (const replica of file.replicas) {
      if (replica.url !== first.source.url) this.#addMirror(replica.url);
    }
  }

  async #readEdgeList(base: string): Promise<void> {
    const { connections, first, random, signal, onOwners } = this.#options;
    const source = connections.page(base, '/-/edges', random);
    const { readSmallFile } = await import('./small-file.ts');
    const { body } = await readSmallFile(source, MAX_EDGE_LIST_BYTES, signal, HINT_MS);
    const { parseEdgeList } = await import('../edges/edge-list.ts');
    const list = parseEdgeList(body.toString());
    if (list === undefined || list.edges.length < 2) return;
    const { ChunkOwners } = await import('../edges/chunk-owners.ts');
    this.#owners = new ChunkOwners(first.source.url, list);
    onOwners();
    if (source.headMs !== undefined) this.#options.edgeMemory.onMeasured(base, source.headMs);
    // The end of the download must not wait for an edge that does not answer.
    void this.#beside(() => this.#addEdges(list, source.headMs ?? 0));
  }

  /** Adds the edges of a list, the nearest ones first. @param firstMs way to the edge that gave it */
  async #addEdges(list: EdgeList, firstMs: Millis): Promise<void> {
    const { connections, first, random, signal, onSource, edgeMemory } = this.#options;
    const { nearestFirst } = await import('../edges/nearest-first.ts');
    const { readSmallFile } = await import('./small-file.ts');
    await nearestFirst({
      edges: list.edges,
      firstMs,
      memory: edgeMemory,
      measure: async ({ url }, ending) => {
        const page = connections.page(url, '/-/live', random);
        await readSmallFile(page, MAX_LIVE_BYTES, ending);
        return page.headMs ?? 0;
      },
      onEdge: async ({ url }) => onSource(await connections.edge(url, first.source.url, random)),
      signal,
    });
  }

  async #takeHouse(house: House): Promise<void> {
    const { takeHouse } = await import('./house-sources.ts');
    await takeHouse({ ...this.#options, house, statements: () => Promise.all(this.#tasks) });
  }

  /** Reads lists of digests and signatures with conventional names. */
  async #readSidecars(vouching: Vouching): Promise<void> {
    try {
      for (const statement of await vouching.look()) this.#state(statement);
    } catch (error) {
      // A signature of other bytes by a pinned key is no hint, nor is a key of the user's own.
      if (isMillraceError(error) && ENDING.has(error.code)) this.#bad = error;
      else throw error;
    }
  }
}

function isSecure({ url }: { readonly url: string }): boolean {
  return url.startsWith('https:');
}
