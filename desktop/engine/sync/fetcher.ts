/**
 * Fetches the contents that a manifest names: small ones in one request each, over shared
 * connections, large ones with the download engine. Each content is compared with its digest; if it
 * is wrong, it is requested in another way.
 */

import { createHash } from 'node:crypto';
import type { Random } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { capabilityIn } from '@millrace/shared/download/request/capability-url';
import { homeDetail } from '@millrace/shared/download/request/home-reason';
import { type DownloadRequest, REQUEST_DEFAULTS } from '@millrace/shared/download/request/request';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import { formatKnownDigest, KNOWN_DIGEST } from '@millrace/shared/http/fields/known-digest';
import { isPublicHost, mayBeTold } from '@millrace/shared/http/urls/public-host';
import { sleep } from '@millrace/shared/node/sleep';
import type { SyncContent } from '@millrace/shared/sync/manifest';
import { Attempts, type RankedEdge, type Way, waysTo } from '@millrace/shared/sync/ways';
import { edgeHeaders } from '../../local/local-edge.ts';
import { Download } from '../download/download.ts';
import { Connections } from '../sources/connections.ts';
import { HttpSource } from '../sources/http-source.ts';
import { readSmallFile } from '../sources/small-file.ts';
import { namedEdges } from './named-edges.ts';

export interface FetcherOptions {
  /** Base URLs of edges. */
  readonly edges: readonly string[];
  /** Whether the origin may be asked directly if no edge helps. */
  readonly direct: boolean;
  readonly proxy?: string | undefined;
  readonly timeoutMs: number;
  /** Milliseconds that a large file may go without a single byte. */
  readonly retryForMs: number;
  readonly random: Random;
  /** Called with the number of bytes that have arrived. */
  readonly onBytes: (count: number) => void;
}

/** Most connections to one server. */
const CONNECTIONS = 16;
/** `retryForMs` of edges, in milliseconds, if the origin may be asked after them. */
const EDGES_RETRY_FOR_MS = 20_000;
const PROGRESS_MS = 200;
const USER_AGENT = 'Millrace/0.1';

export class SyncFetcher {
  readonly #options: FetcherOptions;
  readonly #connections: Connections;
  readonly #edges: readonly RankedEdge[];
  /** Tokens of the user's own edges, by address. */
  readonly #tokens: ReadonlyMap<string, Readonly<Record<string, string>>>;

  private constructor(
    options: FetcherOptions,
    connections: Connections,
    edges: readonly RankedEdge[],
    tokens: ReadonlyMap<string, Readonly<Record<string, string>>>,
  ) {
    this.#options = options;
    this.#connections = connections;
    this.#edges = edges;
    this.#tokens = tokens;
  }

  /** Opens the connections. @param url any of the URLs that will be requested */
  static async open(url: string, given: FetcherOptions): Promise<SyncFetcher> {
    // Edges must not learn of a private link.
    const capability = given.edges.length === 0 ? undefined : capabilityIn(new URL(url));
    const isHome = !isPublicHost(new URL(url).hostname);
    const edges = given.edges.filter((edge) => capability === undefined && mayBeTold(edge, isHome));
    if (given.edges.length > 0 && edges.length === 0 && !given.direct) {
      const why = homeDetail(capability ?? 'own-network');
      throw new MillraceError('source-refused', { code: 'no-edge-asked', values: { why } });
    }
    const options = { ...given, edges };
    const { proxy, timeoutMs } = options;
    const connections = await Connections.open({
      ...REQUEST_DEFAULTS,
      urls: [url],
      edges,
      dir: '',
      connections: CONNECTIONS,
      proxy,
      timeoutMs,
    });
    const tokens = await Promise.all(
      edges.map(async (edge) => [edge, await edgeHeaders(edge)] as const),
    );
    const named = await namedEdges(edges, connections, options.random);
    return new SyncFetcher(options, connections, named, new Map(tokens));
  }

  /** The edges that may be told of the URLs, with the names that decide who is asked for which. */
  get edges(): readonly RankedEdge[] {
    return this.#edges;
  }

  /**
   * Fetches a small content into memory.
   *
   * @throws MillraceError; the error of the first way if all fail
   */
  async small(url: string, { size, sha256 }: SyncContent, signal: AbortSignal): Promise<Buffer> {
    return this.#attempt(waysTo(url, this.#edges, this.#options.direct), signal, async (way) => {
      const body = await this.#read(url, way, size, sha256, signal);
      const found = createHash('sha256').update(body).digest('hex');
      if (found === sha256) return body;
      throw new MillraceError('checksum-mismatch', {
        code: 'url-has-digest',
        values: { url, hex: found },
      });
    });
  }

  /**
   * Fetches the current state of a document whose content is not known before.
   *
   * @param maxBytes a longer document is refused
   * @throws as `small`
   */
  async current(url: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
    const ways = waysTo(url, this.#edges, this.#options.direct);
    return this.#attempt(
      ways.map(({ edge }) => ({ edge, revalidate: true })),
      signal,
      (way) => this.#read(url, way, maxBytes, undefined, signal),
    );
  }

  /**
   * Fetches a content of any size into a folder. Resumes the unfinished file of an earlier run.
   *
   * @param name of the file
   * @returns path of the file
   * @throws MillraceError
   */
  async large(
    url: string,
    content: SyncContent,
    dir: string,
    name: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { edges, direct, retryForMs } = this.#options;
    const known = { [KNOWN_DIGEST]: formatKnownDigest(content.sha256) };
    const anew = { ...known, 'cache-control': 'no-cache' };
    const open = direct || edges.length === 0;
    const request = this.#request(url, content, dir, name);
    const forEdges = open ? Math.min(retryForMs, EDGES_RETRY_FOR_MS) : retryForMs;
    const ways: DownloadRequest[] = [];
    for (const edgeHeaders of edges.length === 0 ? [] : [known, anew]) {
      ways.push({ ...request, edges, direct: false, edgeHeaders, retryForMs: forEdges });
    }
    if (open) ways.push({ ...request, direct: true, retryForMs });
    let first: MillraceError | undefined;
    for (const way of ways) {
      try {
        return await this.#download(way, signal);
      } catch (thrown) {
        const error = asMillraceError(thrown);
        first ??= error;
        // No other way helps against a failure on this machine.
        if (error.row.scope === 'download') throw error;
      }
    }
    throw first as MillraceError;
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  #request(url: string, content: SyncContent, dir: string, file: string): DownloadRequest {
    const { proxy, timeoutMs } = this.#options;
    const { size, sha256, pieces } = content;
    return {
      ...REQUEST_DEFAULTS,
      urls: [url],
      dir,
      file,
      overwrite: true,
      length: size,
      digests: [{ algorithm: 'sha256', hex: sha256 }],
      ...(pieces === undefined
        ? {}
        : { pieces: { algorithm: 'sha256', pieceBytes: pieces.bytes, hexes: pieces.sha256 } }),
      proxy,
      timeoutMs,
    };
  }

  async #download(request: DownloadRequest, signal: AbortSignal): Promise<string> {
    const download = new Download(request, {
      signal,
      onEvent: () => {},
      random: this.#options.random,
    });
    let told = 0;
    const tell = () => {
      const { receivedBytes } = download.progress();
      this.#options.onBytes(Math.max(0, receivedBytes - told));
      told = Math.max(told, receivedBytes);
    };
    const timer = setInterval(tell, PROGRESS_MS);
    try {
      return (await download.run()).path;
    } finally {
      clearInterval(timer);
      tell();
    }
  }

  async #attempt<T>(
    ways: readonly Way[],
    signal: AbortSignal,
    act: (way: Way) => Promise<T>,
  ): Promise<T> {
    const attempts = new Attempts(ways, this.#options.random);
    let way = attempts.first;
    for (;;) {
      try {
        return await act(way);
      } catch (thrown) {
        if (signal.aborted) throw new MillraceError('interrupted');
        const step = attempts.next(asMillraceError(thrown));
        if (step.kind === 'fail') throw step.error;
        way = step.way;
        await sleep(step.afterMs, signal).catch(() => {
          throw new MillraceError('interrupted');
        });
      }
    }
  }

  async #read(
    url: string,
    way: Way,
    maxBytes: number,
    sha256: string | undefined,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const { edge, revalidate } = way;
    const asked = {
      'user-agent': USER_AGENT,
      ...(revalidate ? { 'cache-control': 'no-cache' } : {}),
      ...(sha256 === undefined ? {} : { [KNOWN_DIGEST]: formatKnownDigest(sha256) }),
    };
    const origin = edge === undefined ? undefined : new URL(edge).origin;
    const token = edge === undefined ? {} : this.#tokens.get(edge);
    const source = new HttpSource({
      kind: edge === undefined ? 'origin' : 'edge',
      label: edge ?? url,
      url,
      edge,
      // The token is for this edge only, not for a host that it redirects to.
      fields: { for: (target) => ({ ...asked, ...(target.origin === origin ? token : {}) }) },
      get: this.#connections.get,
      health: new SourceHealth(this.#options.random),
    });
    const { body } = await readSmallFile(source, maxBytes, signal);
    this.#options.onBytes(body.length);
    return body;
  }
}
