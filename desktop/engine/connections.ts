/** How a download reaches its sources: the HTTP client, what is said to whom, and the sources. */

import type { Millis, Random } from '@millrace/shared/base/clock';
import type { DownloadRequest } from '@millrace/shared/download/request';
import { SourceHealth } from '@millrace/shared/download/source-health';
import { HttpClient, type HttpStream } from '@millrace/shared/node/http-client';
import { Agent } from 'undici';
import { type HeaderFields, HttpSource, type SourceKind } from './http-source.ts';
import { edgeHeaders } from './local-edge.ts';
import { sleep } from './sleep.ts';

type Fields = Readonly<Record<string, string>>;

/** How long connecting may take at most: whoever takes longer is not there. */
const MAX_CONNECT_MS = 10_000;
const USER_AGENT = 'Millrace/0.1';

export class Connections {
  readonly #request: DownloadRequest;
  readonly #agent: Agent;
  readonly #client: HttpClient;

  constructor(request: DownloadRequest) {
    this.#request = request;
    const { timeoutMs } = request;
    // Besides blocks there are samples, sidecar files and lists of mirrors to be fetched.
    const connections = request.connections + 4;
    const connectTimeoutMs = Math.min(timeoutMs, MAX_CONNECT_MS);
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: connectTimeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    this.#client = new HttpClient({
      agent: this.#agent,
      direct: { connections, timeoutMs, connectTimeoutMs, headTimeoutMs: timeoutMs },
    });
  }

  /** The sources that the user has named: edges first, then the origin, then mirrors. */
  async sources(random: Random, onNote: (text: string) => void): Promise<HttpSource[]> {
    const { urls, edges, direct, headers } = this.#request;
    const [url = '', ...mirrors] = urls;
    const ownHeaders = Object.keys(headers).length > 0;
    if (ownHeaders && edges.length > 0) {
      onNote('header fields are given, which edges do not carry: downloading directly');
    }
    const used = ownHeaders ? [] : edges;
    const all = await Promise.all(used.map((edge) => this.edge(edge, url, random)));
    if (direct || used.length === 0) all.push(this.source('origin', url, random));
    // Mirrors are origins as well.
    if (direct) for (const mirror of mirrors) all.push(this.source('mirror', mirror, random));
    return all;
  }

  /** An edge as a source of a URL. */
  async edge(edge: string, url: string, random: Random): Promise<HttpSource> {
    const own = await edgeHeaders(edge);
    return this.#make('edge', edge, url, edge, { for: () => withAgent(own) }, random);
  }

  /** The origin or a mirror itself. */
  source(kind: Exclude<SourceKind, 'edge'>, url: string, random: Random): HttpSource {
    const first = new URL(this.#request.urls[0] as string).origin;
    // What the user gave for one host goes to no other.
    const fields: HeaderFields = {
      for: (target) => withAgent(target.origin === first ? this.#request.headers : {}),
    };
    return this.#make(kind, new URL(url).host, url, undefined, fields, random);
  }

  /** A page of an edge's own, such as `/-/edges`. */
  page(edge: string, path: string, random: Random): HttpSource {
    const url = new URL(path, edge).href;
    return this.#make('edge', edge, url, undefined, { for: () => withAgent({}) }, random);
  }

  /** Sends one GET. */
  readonly get = (url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> =>
    this.#client.get(url, headers, signal);

  /** Resolves when the network has changed (true), or at the deadline or with the signal (false). */
  readonly networkChange = async (deadlineMs: Millis, signal: AbortSignal): Promise<boolean> => {
    await sleep(deadlineMs - performance.now(), signal).catch(() => {});
    return false;
  };

  async close(): Promise<void> {
    this.#client.close();
    await this.#agent.destroy();
  }

  #make(
    kind: SourceKind,
    label: string,
    url: string,
    edge: string | undefined,
    fields: HeaderFields,
    random: Random,
  ): HttpSource {
    const health = new SourceHealth(random);
    return new HttpSource({ kind, label, url, edge, fields, get: this.get, health });
  }
}

function withAgent(headers: Fields): Fields {
  return { 'user-agent': USER_AGENT, ...headers };
}
