/**
 * Sends clients that know no edge to the nearest one: `/-/near/URL` is answered with a redirect to
 * the prefixed URL at that edge, and names the others (RFC 6249).
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { type AddressedEdge, oneForEachAddress } from '@millrace/shared/cdn/near/one-address';
import { hideSecrets } from '@millrace/shared/http/urls/depot-link';
import { NEAR_PATH } from '@millrace/shared/http/urls/near-link';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import type { ClientLimits } from '../admission/client-limits.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Metrics } from '../figures/metrics.ts';
import { problemReply } from '../listen/problem-reply.ts';
import type { ClientRtts } from '../near/client-rtts.ts';
import type { NearEdges } from '../near/near-edges.ts';
import type { Membership } from '../peers/membership.ts';
import type { Network } from '../peers/network.ts';
import type { LocalAccess } from '../policy/local-access.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { isEncrypted } from './own-address.ts';
import { readTarget, writeTarget } from './send/read-target.ts';

export interface NearOptions {
  readonly publicUrl: string | undefined;
  readonly defaultScheme: 'http' | 'https';
  readonly policy: OriginPolicy;
  readonly limits: ClientLimits;
  readonly clientAddress: ClientAddress;
  readonly localAccess: LocalAccess | undefined;
  readonly transfers: Pick<Exchanges, 'draining' | 'takesClients'>;
  readonly membership: Membership;
  /** Undefined if this node is alone. */
  readonly network: Network | undefined;
  readonly clientRtts: ClientRtts;
  /** Knows the edges and their order for each client. */
  readonly edges: NearEdges;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Most other edges that are named in an answer. */
const MAX_DUPLICATES = 8;
/** Longest Link field, characters: clients bound the headers that they read. */
const MAX_LINK_CHARS = 4096;

/** Address of this edge where it has no public one: relative, so it is the one that was asked. */
const HERE = '';

export class NearHandler {
  readonly #options: NearOptions;

  constructor(options: NearOptions) {
    this.#options = options;
  }

  /**
   * Answers a request; never rejects.
   *
   * @param target the raw request target, which begins with `NEAR_PATH` and a slash
   */
  handle(req: IncomingMessage, res: ServerResponse, target: string): void {
    const { metrics, log, clientAddress, localAccess } = this.#options;
    const client = clientAddress.of(req.socket.remoteAddress, req.headers);
    // A page of any site may follow the redirect; that of one user's edge is for nobody else.
    if (localAccess === undefined) res.setHeader('access-control-allow-origin', '*');
    try {
      this.#answer(req, res, target, client);
    } catch (thrown) {
      const error = asMillraceError(thrown);
      if (error.code === 'internal') log.error({ err: error.cause ?? error }, 'internal error');
      metrics.errors.inc({ code: error.code });
      log.info({ client, code: error.code, detail: error.detail }, 'sent to no edge');
      const { status, headers, body } = problemReply(error);
      res.writeHead(status, headers).end(body);
    }
  }

  /** @throws MillraceError as a request for the file itself would, if it is not served here */
  #answer(req: IncomingMessage, res: ServerResponse, target: string, client: string): void {
    const { limits, clientRtts, membership, metrics, log, now } = this.#options;
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new MillraceError('method-not-allowed');
    // The redirect takes no place of a transfer, but counts as a request for a file.
    limits.admit(client, now()).release(now());
    const { path, url } = this.#read(req, target.slice(NEAR_PATH.length));
    clientRtts.measure(req, res, client);
    const [first, ...others] = this.#order(req, client, url);
    if (first === undefined) throw new MillraceError('draining', '', { retryAfterMs: 1000 });
    // Not by the name of the edge: names of nodes that are gone would stay for ever.
    metrics.nearAnswers.inc({ to: first.name === membership.self.name ? 'this' : 'other' });
    // A query may hold secrets: signed links, tokens.
    log.info(
      { client, url: hideSecrets(`${url.origin}${url.pathname}`), edge: first.name },
      'sent to an edge',
    );
    const link = duplicates(others, path);
    res.writeHead(307, {
      location: `${first.url}${path}`,
      ...(link === '' ? {} : { link }),
      // The answer depends on the client's network and on the present state of edges. Whoever asks
      // again, to resume or for the next file, gets an edge that is good at that time.
      'cache-control': 'no-store',
      'content-length': 0,
    });
    res.end();
  }

  /**
   * Reads the target of the file, and checks that its URL is served.
   *
   * @returns the canonical target for any edge of the network
   */
  #read(req: IncomingMessage, target: string): { path: string; url: URL } {
    const { policy, defaultScheme, localAccess, wallClock } = this.#options;
    const scope = localAccess?.scope(req.headers) ?? 'public';
    const { url, permit } = readTarget(target, { policy, defaultScheme });
    const grant = permit === undefined ? undefined : policy.grantFor(permit, url, wallClock());
    const named = policy.named(url);
    policy.check(named, scope, grant);
    // The target as the client has it: another edge may have other rules.
    return { path: writeTarget(url, permit), url: named };
  }

  /** Returns the edges that serve the file, the one that the client is sent to first. */
  #order(req: IncomingMessage, client: string, url: URL): readonly AddressedEdge[] {
    const { transfers, localAccess, membership, network, publicUrl, edges: near } = this.#options;
    const view = near.for(client);
    const refusing = new Set(network?.refusing(url.href) ?? []);
    const secure = isEncrypted(req) || publicUrl?.startsWith('https:') === true;
    // The edge of one user serves what no other edge would.
    const alike = localAccess === undefined ? membership.alike() : [];
    const peers = alike
      .filter((peer) => !refusing.has(peer.name))
      .filter(({ publicUrl: at = '' }) => !secure || at.startsWith('https:'));
    const nodes = peers.map((peer) => {
      // Its origin alone: whatever else it told would become part of other URLs.
      return { ...view.peer(peer), url: new URL(peer.publicUrl ?? '').origin };
    });
    const own = { ...view.own(), url: publicUrl ?? HERE };
    // An edge that is about to drain still serves a client that nobody else could.
    const isLast = nodes.length === 0 && !transfers.draining;
    const takesClients = transfers.takesClients || isLast;
    return view.order(oneForEachAddress(takesClients ? [own, ...nodes] : nodes));
  }
}

/** Writes the Link field that names other edges with the same file (RFC 6249 3), maybe empty. */
function duplicates(edges: readonly AddressedEdge[], path: string): string {
  let field = '';
  for (const [i, { url }] of edges.slice(0, MAX_DUPLICATES).entries()) {
    const link = `<${url}${path}>; rel=duplicate; pri=${i + 1}`;
    if (field.length + link.length > MAX_LINK_CHARS) break;
    field += field === '' ? link : `, ${link}`;
  }
  return field;
}
