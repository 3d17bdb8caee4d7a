/** Requests to other nodes: signed, in turn, and with connections of their own for each hop. */

import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { FairTurns } from '@millrace/shared/cdn/admission/fair-turns';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import { listField } from '@millrace/shared/http/fields/headers';
import { networkError } from '@millrace/shared/node/network-error';
import {
  RangeClient,
  type RangeResponse,
  type RequestObserver,
} from '@millrace/shared/node/range-client';
import type { Path } from '../files/path.ts';
import { ClientTags } from './client-tags.ts';
import type { ClusterAuth } from './cluster-auth.ts';
import type { ForwardTarget, Membership } from './membership.ts';
import { problemOf } from './peer-answers.ts';

export interface InsideRequestsOptions {
  readonly auth: ClusterAuth;
  readonly membership: Membership;
  /** Connections to one node at a time and per hop. */
  readonly connections: number;
  readonly timeoutMs: Millis;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

const CONNECT_TIMEOUT_MS = 2000;

export class InsideRequests {
  readonly #options: InsideRequestsOptions;
  /**
   * Clients by hop: if hops shared connections, two nodes could wait for each other, each with all
   * its connections to the other taken by requests that the other must forward back.
   */
  readonly #ranges: RangeClient[] = [];
  /** Turns at those connections: one client's flood must not keep the others from other nodes. */
  readonly #turns: FairTurns;
  readonly #tags = new ClientTags();

  constructor(options: InsideRequestsOptions) {
    this.#options = options;
    this.#turns = new FairTurns(options.connections);
  }

  close(): void {
    for (const ranges of this.#ranges) ranges?.close();
  }

  /**
   * Sends an inside request, as soon as it has its turn.
   *
   * @param name target, without the slash before it
   * @param path of the request that this one is a part of
   * @returns the answer, and the nonce with which the node must have signed it
   * @throws PeerFailure for errors of the node; MillraceError for those of the origin; the signal's
   *   reason
   */
  async open(
    peer: ForwardTarget,
    name: string,
    fields: Readonly<Record<string, string>>,
    path: Path,
    signal: AbortSignal,
    observer: RequestObserver,
  ): Promise<{ response: RangeResponse; nonce: string }> {
    const { auth, membership, now } = this.#options;
    const url = new URL(`${peer.url}/${name}`);
    const target = url.pathname + url.search;
    const { client = '', hops, trace } = path;
    // Signed when it goes out: it may wait for a connection longer than a signature is valid.
    let nonce = '';
    const headers = () => {
      const signed = auth.sign(peer.name, 'GET', target, {
        [INSIDE.mark]: '1',
        [INSIDE.hops]: String(hops + 1),
        [INSIDE.via]: [...path.via, membership.self.name].join(' '),
        ...(trace === undefined ? {} : { traceparent: trace }),
        ...(client === '' ? {} : { [INSIDE.client]: this.#tags.of(client) }),
        ...(path.avoid.length === 0 ? {} : { [INSIDE.avoid]: path.avoid.join(' ') }),
        ...fields,
      });
      nonce = signed.nonce;
      return signed.headers;
    };
    const end = await this.#turns.take(`${hops} ${peer.url}`, client, signal);
    let response: RangeResponse;
    try {
      response = await this.#rangesAt(hops).open(url, headers, signal, {
        ...observer,
        onDone: end,
        onInterim: (head) => {
          membership.table.onHeard(peer.name, now());
          observer.onInterim?.(head);
        },
      });
      membership.table.onHeard(peer.name, now());
    } catch (error) {
      end();
      throw signal.aborted ? signal.reason : new PeerFailure(peer.name, networkError(error, false));
    }
    const load = Number(listField(response.headers, INSIDE.load) ?? Number.NaN);
    if (load >= 0) membership.table.onLoad(peer.name, load);
    if (response.status === 200) return { response, nonce };
    const problem = await problemOf(response);
    // Problems of these scopes are the answering node's own; all others are the origin's.
    if (problem === undefined || problem.row.scope === 'node' || problem.row.scope === 'download') {
      const reason = problem ?? new MillraceError('origin-error', `a peer: ${response.status}`);
      throw new PeerFailure(peer.name, reason);
    }
    throw problem;
  }

  #rangesAt(hops: number): RangeClient {
    let ranges = this.#ranges[hops];
    if (ranges === undefined) {
      const { connections, timeoutMs } = this.#options;
      ranges = new RangeClient({ connections, timeoutMs, connectTimeoutMs: CONNECT_TIMEOUT_MS });
      this.#ranges[hops] = ranges;
    }
    return ranges;
  }
}
