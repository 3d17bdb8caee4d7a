/**
 * Sends clients that know no edge to the nearest one: `/-/near/URL` is answered with a redirect to
 * the prefixed URL at that edge, and names the others (RFC 6249).
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { type AddressedEdge, oneForEachAddress } from '@millrace/shared/cdn/near/one-address';
import { NEAR_PATH } from '@millrace/shared/http/urls/near-link';
import { SIGNED_PATH } from '@millrace/shared/http/urls/signed-link';
import type { ClientLimits } from '../admission/client-limits.ts';
import type { Exchanges } from '../clients/exchanges.ts';
import type { Metrics } from '../figures/metrics.ts';
import { problemReply } from '../listen/problem-reply.ts';
import type { ClientRtts } from '../near/client-rtts.ts';
import type { NearEdges } from '../near/near-edges.ts';
import type { Membership } from '../peers/membership.ts';
import type { Network } from '../peers/network.ts';
import type { ClientAddress } from '../policy/client-address.ts';
import type { LocalAccess } from '../policy/local-access.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { isEncrypted } from './own-address.ts';
import { readTarget } from './read-target.ts';

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
    // A page of any site may follow the redirect; that of one user's edge is for nobody else.
    if (localAccess === undefined) res.setHeader('access-control-allow-origin', '*');
    try {
      const client = clientAddress.of(req.socket.remoteAddress, req.headers);
      this.#answer(req, res, target, client);
    } catch (thrown) {
      const error = asMillraceError(thrown);
      if (error.code === 'internal') log.error({ err: error.cause ?? error }, 'internal error');
      metrics.errors.inc({ code: error.code });
      const { status, headers, body } = problemReply(error);
      res.writeHead(status, headers).end(body);
    }
  }

  /** @throws MillraceError as a request for the file itself would, if it is not served here */
  #answer(req: IncomingMessage, res: ServerResponse, target: string, client: string): void {
    const { limits, clientRtts, metrics, now } = this.#options;
    if (req.method !== 'GET' && req.method !== 'HEAD')
      throw new MillraceError('method-not-allowed');
    // The redirect takes no place of a transfer, but counts as a request for a file.
    limits.admit(client, now()).release(now());
    const { path, url } = this.#read(req, target.slice(NEAR_PATH.length));
    clientRtts.measure(req, res, client);
    const [first, ...others] = this.#order(req, client, url);
    if (first === undefined) throw new MillraceError('draining', '', { retryAfterMs: 1000 });
    metrics.nearAnswers.inc({ edge: first.name });
    res.writeHead(307, {
      location: `${first.url}${path}`,
      ...(others.length === 0 ? {} : { link: duplicates(others, path) }),
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
    const grant = permit === undefined ? undefined : policy.grant(permit, url, wallClock());
    policy.check(url, scope, grant);
    const path = permit === undefined ? `/${url.href}` : `${SIGNED_PATH}${permit}/${url.href}`;
    return { path, url };
  }

  /** Returns the edges that serve the file, the one that the client is sent to first. */
  #order(req: IncomingMessage, client: string, url: URL): readonly AddressedEdge[] {
    const { transfers, membership, network, publicUrl, edges: near } = this.#options;
    const view = near.for(client);
    const refusing = new Set(network?.refusing(url.href) ?? []);
    const secure = isEncrypted(req) || publicUrl?.startsWith('https:') === true;
    const peers = membership
      .alike()
      .filter((peer) => !refusing.has(peer.name))
      .filter(({ publicUrl: at = '' }) => !secure || at.startsWith('https:'));
    const nodes = peers.map((peer) => ({ ...view.peer(peer), url: baseOf(peer.publicUrl ?? '') }));
    const own = { ...view.own(), url: publicUrl ?? HERE };
    // An edge that is about to drain still serves a client that nobody else could.
    const isLast = nodes.length === 0 && !transfers.draining;
    const takesClients = transfers.takesClients || isLast;
    return view.order(oneForEachAddress(takesClients ? [own, ...nodes] : nodes));
  }
}

function baseOf(url: string): string {
  return url.replace(/\/+$/, '');
}

/** Writes the Link field that names other edges with the same file (RFC 6249 3). */
function duplicates(edges: readonly AddressedEdge[], path: string): string {
  return edges
    .slice(0, MAX_DUPLICATES)
    .map(({ url }, i) => `<${url}${path}>; rel=duplicate; pri=${i + 1}`)
    .join(', ');
}
