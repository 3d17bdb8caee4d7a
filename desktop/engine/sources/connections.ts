/**
 * Connects a download to its sources: the HTTP client, the header fields for each source, and the
 * sources themselves.
 */

import type { Millis, Random } from '@millrace/shared/base/clock';
import type { Detail } from '@millrace/shared/base/error-table/particulars';
import { MillraceError } from '@millrace/shared/base/errors';
import { type Note, noteOf } from '@millrace/shared/base/notes';
import { sourceName } from '@millrace/shared/download/figures/source-name';
import { capabilityIn } from '@millrace/shared/download/request/capability-url';
import { type OriginAnswer, reasonInAnswer } from '@millrace/shared/download/request/edge-use';
import { homeDetail, noteReason } from '@millrace/shared/download/request/home-reason';
import type { DownloadRequest } from '@millrace/shared/download/request/request';
import type { SourceKind } from '@millrace/shared/download/request/source-kinds';
import { mayAskPlainly, type NamedBy } from '@millrace/shared/download/transfer/plain-source';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { HouseEdge } from '@millrace/shared/house/house-list';
import { isPublicHost, mayBeTold } from '@millrace/shared/http/urls/public-host';
import type { HttpClient, HttpStream } from '@millrace/shared/node/http-client';
import { edgeHeaders, localEdge } from '../../local/local-edge.ts';
import { checkPinned, getWhile, pinnedClient } from '../edges/pinned-edge.ts';
import { Cookies, readCookieFile } from '../net/cookies.ts';
import { waitForNetworkChange } from '../net/network-watch.ts';
import { OwnNetwork } from '../net/own-network.ts';
import { RequestFields } from '../net/request-fields.ts';
import { Transport } from '../net/transport.ts';
import { whyUnreachable } from '../net/unreachable.ts';
import type { DownloadSource } from './download-source.ts';
import { type HeaderFields, HttpSource } from './http-source.ts';

type Fields = Readonly<Record<string, string>>;

/** Connections beyond those for chunks: for samples, and for lists of digests and of mirrors. */
const EXTRA_CONNECTIONS = 4;

export class Connections {
  readonly #request: DownloadRequest;
  readonly #fields: RequestFields;
  readonly #transport: Transport;
  readonly #download: URL;
  readonly #ownNetwork: OwnNetwork;
  readonly #pinned: HttpClient[] = [];
  /** URLs of the sources that were made, whose hosts may be the same. */
  readonly #asked = new Set<string>();
  #digestKnown: boolean;

  private constructor(request: DownloadRequest, fields: RequestFields) {
    this.#request = request;
    this.#fields = fields;
    this.#download = new URL(fields.urls[0] as string);
    this.#ownNetwork = new OwnNetwork(namedHosts(request, fields.urls));
    this.#digestKnown = request.digests.length > 0;
    const { timeoutMs, proxy } = request;
    this.#transport = new Transport({
      proxy,
      env: process.env,
      timeoutMs,
      connections: request.connections + EXTRA_CONNECTIONS,
      lookup: this.#ownNetwork.lookup,
    });
  }

  /** Opens the connections of a download. @throws MillraceError for options that cannot be used */
  static async open(request: DownloadRequest): Promise<Connections> {
    const { urls, headers, login, cookieFile, netrc } = request;
    const cookies = new Cookies();
    if (cookieFile !== undefined) await readCookieFile(cookies, cookieFile);
    const own = { urls, headers, login, cookies };
    const fields = new RequestFields(own);
    if (netrc !== true) return new Connections(request, fields);
    const host = new URL(fields.urls[0] as string).hostname;
    const { readNetrc } = await import('../net/netrc.ts');
    return new Connections(request, new RequestFields({ ...own, netrc: await readNetrc(host) }));
  }

  /** URLs of the file without user names and passwords; the user's first URL comes first. */
  get urls(): readonly string[] {
    return this.#fields.urls;
  }

  /** True if a digest of the whole file is known that no attacker on the way could have changed. */
  get digestKnown(): boolean {
    return this.#digestKnown;
  }

  /** Records a trusted digest: sources without TLS may now send bytes of an https: download. */
  trustDigest(): void {
    this.#digestKnown = true;
  }

  /** See `OwnNetwork`. */
  get isHome(): boolean {
    return this.#ownNetwork.isHome;
  }

  /** Returns whether the user's own network allows telling an edge of the download. */
  async mayTell(edge: string): Promise<boolean> {
    if (mayBeTold(edge, this.isHome)) return true;
    return this.#ownNetwork.leadsHome(new URL(edge).hostname);
  }

  /** Returns true for the edge that runs on this machine for this user. */
  async isOwnEdge(edge: string): Promise<boolean> {
    return (await localEdge()) === new URL(edge).origin;
  }

  /** Notes a mirror that the user has named, which may therefore be in the user's own network. */
  name(url: string): void {
    this.#ownNetwork.name(new URL(url));
  }

  /** Makes the sources that the user has named: edges first, then the origin, then mirrors. */
  async sources(random: Random, onNote: (note: Note) => void): Promise<DownloadSource[]> {
    const { edges, direct } = this.#request;
    const [url = '', ...mirrors] = this.urls;
    const { personal } = this.#fields;
    const may = await Promise.all(edges.map((edge) => this.mayTell(edge)));
    const told = edges.filter((_, i) => may[i]);
    const reason =
      capabilityIn(this.#download) ?? (told.length === 0 ? ('own-network' as const) : undefined);
    if (edges.length > 0) {
      const own = await Promise.all(edges.map((edge) => this.isOwnEdge(edge)));
      // The launcher names the user's own edge by itself: who has set up no edge needs no note.
      const note = own.includes(false) ? onNote : () => {};
      if (personal) note(noteOf('edges-left-out'));
      else if (reason !== undefined) {
        const why = homeDetail(reason);
        // A user who wants only edges does not want the origin asked.
        if (!direct) {
          throw new MillraceError('source-refused', { code: 'no-edge-asked', values: { why } });
        }
        note(noteOf('edges-not-asked', noteReason(why)));
      }
    }
    const used = personal || reason !== undefined ? [] : told;
    const all: DownloadSource[] = await Promise.all(
      used.map((edge) => this.edge(edge, url, random)),
    );
    if (direct || used.length === 0) all.push(this.source('origin', url, random));
    // A mirror is asked directly, like the origin.
    if (direct) for (const mirror of mirrors) all.push(this.source('mirror', mirror, random));
    return all;
  }

  /** Makes a source that gets a URL through an edge. */
  async edge(edge: string, url: string, random: Random): Promise<DownloadSource> {
    const own = await edgeHeaders(edge);
    const { origin } = new URL(edge);
    const fields: HeaderFields = {
      for: (target, start) => ({
        ...this.#fields.fieldsFor(target, { role: 'edge', start }),
        ...this.#request.edgeHeaders,
        // The token is for this edge only, not for a host that it redirects to.
        ...(target.origin === origin ? own : {}),
      }),
    };
    return this.#make('edge', edge, url, edge, fields, random, this.#edgeNamedBy(edge));
  }

  /** Makes a source that asks the origin or a mirror directly. */
  source(kind: Exclude<SourceKind, 'edge' | 'house'>, url: string, random: Random): DownloadSource {
    const fields: HeaderFields = {
      for: (target, start) => this.#fields.fieldsFor(target, { role: 'origin', start }),
      onResponse: (target, start, headers) =>
        this.#fields.onResponse(target, { role: 'origin', start }, headers),
    };
    const namedBy = kind === 'origin' ? 'origin' : 'other';
    // A later source may have the host of one that has its name already.
    const label = sourceName(url, [...this.urls, ...this.#asked]);
    this.#asked.add(url);
    return this.#make(kind, label, url, undefined, fields, random, namedBy);
  }

  /**
   * Returns why no edge of the house may be asked for the file; undefined: they may. Nobody
   * vouches for such an edge, so it learns less than one that the user has named.
   *
   * @param answer the origin's, to the user's own request
   */
  async whyNotHouse(answer: OriginAnswer): Promise<Detail | undefined> {
    const reason =
      (this.#fields.personal ? ('fields' as const) : undefined) ??
      capabilityIn(this.#download) ??
      reasonInAnswer(answer);
    if (reason !== undefined) return homeDetail(reason);
    // The edge would ask the origin from this network, which the proxy may be there to hide.
    if (await this.#transport.isProxied(this.#download)) return { code: 'home-proxy' };
    const isHome = this.isHome || (await this.#ownNetwork.leadsHome(this.#download.hostname));
    return isHome ? homeDetail('own-network') : undefined;
  }

  /** Makes a source that gets a URL through an edge that was found on the local network. */
  house(edge: HouseEdge, url: string, random: Random): DownloadSource {
    const { connections, timeoutMs } = this.#request;
    const client = pinnedClient(edge, { connections, timeoutMs });
    this.#pinned.push(client);
    const fields: HeaderFields = {
      for: (target, start) => this.#fields.fieldsFor(target, { role: 'edge', start }),
    };
    const health = new SourceHealth(random);
    const check = (target: URL) => checkPinned(target, edge);
    const get = (target: URL, headers: Fields, signal: AbortSignal) =>
      getWhile(() => health.quarantine, client, target, headers, signal);
    const { url: base } = edge;
    return new HttpSource({
      kind: 'house',
      label: base,
      url,
      edge: base,
      fields,
      get,
      check,
      health,
    });
  }

  /** Makes a source for one of the edge's own pages, such as `/-/edges`. */
  page(edge: string, path: string, random: Random): DownloadSource {
    const fields: HeaderFields = {
      for: (target, start) => this.#fields.fieldsFor(target, { role: 'edge', start }),
    };
    const { href } = new URL(path, edge);
    return this.#make('edge', edge, href, undefined, fields, random, this.#edgeNamedBy(edge));
  }

  /** Sends one GET. */
  readonly get = async (url: URL, headers: Fields, signal: AbortSignal): Promise<HttpStream> => {
    this.#ownNetwork.check(url);
    try {
      return await this.#transport.get(url, headers, signal);
    } catch (error) {
      throw whyUnreachable(error);
    }
  };

  /** Resolves to true when the network has changed, or to false after `ms` or on abort. */
  readonly networkChange = async (ms: Millis, signal: AbortSignal): Promise<boolean> => {
    try {
      return (await waitForNetworkChange(performance.now() + ms, signal)) !== 'deadline';
    } catch {
      return false; // the signal aborted
    }
  };

  close(): Promise<void> {
    for (const client of this.#pinned) client.close();
    return this.#transport.close();
  }

  #make(
    kind: SourceKind,
    label: string,
    url: string,
    edge: string | undefined,
    fields: HeaderFields,
    random: Random,
    namedBy: NamedBy,
  ): HttpSource {
    const health = new SourceHealth(random);
    const check = (target: URL, start: URL) => {
      const { digestKnown } = this;
      if (mayAskPlainly(target, { download: this.#download, namedBy, start, digestKnown })) return;
      const why = 'it is without TLS, and no digest would show that bytes were changed on the way';
      throw new MillraceError('source-refused', `${target.host}: ${why}`);
    };
    return new HttpSource({ kind, label, url, edge, fields, get: this.get, check, health });
  }

  #edgeNamedBy(edge: string): NamedBy {
    return this.#request.edges.includes(edge) ? 'own-edge' : 'other';
  }
}

/** Picks the hosts that the user has named from the URLs of a request. */
function namedHosts(
  { edges, listed = [] }: DownloadRequest,
  urls: readonly string[],
): ConstructorParameters<typeof OwnNetwork>[0] {
  const [first = '', ...more] = urls;
  const isListed = (url: string) => listed.includes(url);
  // A list whose files are all in the user's own network may name hosts of that network.
  const home = urls.every((url) => !isPublicHost(new URL(url).hostname));
  const typed = more.filter((url) => home || !isListed(url));
  return {
    download: home || !isListed(first) ? new URL(first) : undefined,
    others: [...typed, ...edges].map((url) => new URL(url)),
  };
}
