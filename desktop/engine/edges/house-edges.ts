/**
 * Finds the edges that announce themselves on the links of this machine (`edge --announce yes`). A found
 * edge is somebody's: it is connected to at the address of its announcement only, and listed once that
 * address has answered as an edge.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { SERVICE_NAME, SERVICE_TYPE } from '@millrace/shared/house/announcement';
import { type HouseEdge, HouseList, type IdentifiedEdge } from '@millrace/shared/house/house-list';
import { QueryTimes } from '@millrace/shared/house/query-times';
import { openLinkSocket } from '@millrace/shared/node/mdns/link-socket';
import { type LinkAddress, Links } from '@millrace/shared/node/mdns/links';
import multicastDns, { type MulticastDNS, type ResponsePacket } from 'multicast-dns';
import { identifyEdge } from './pinned-edge.ts';

/** Source of found edges. */
export interface House {
  /** The edges that are there, nearest first. */
  readonly edges: readonly IdentifiedEdge[];
  /** Calls a function for each edge that is found from now on. @returns function that ends this */
  onFound(listener: (edge: IdentifiedEdge) => void): () => void;
  /** Notes that an edge may have brought wrong bytes: it is not used for a while. */
  onWrong(edge: HouseEdge): void;
  /** Aborts when edges of the house are not to be used any more. */
  readonly closed: AbortSignal;
}

/** Longest wait of a timer: links and clocks change. */
const MAX_TIMER_MS = 60_000;

export class HouseEdges implements House {
  readonly #list = new HouseList();
  readonly #times: QueryTimes;
  readonly #links: Links<MulticastDNS>;
  readonly #listeners = new Set<(edge: IdentifiedEdge) => void>();
  readonly #closed = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** Begins to look. */
  constructor() {
    this.#times = new QueryTimes(Math.random, now());
    this.#links = new Links<MulticastDNS>({
      open: (link) => this.#open(link),
      close: (mdns) => mdns.destroy(),
      onChange: () => {
        this.#times.restart(now());
        this.#schedule();
      },
    });
    this.#schedule();
  }

  get edges(): readonly IdentifiedEdge[] {
    return this.#list.edges(now());
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  onFound(listener: (edge: IdentifiedEdge) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onWrong(edge: HouseEdge): void {
    this.#list.onWrong(edge, now());
  }

  /** Looks no more. */
  close(): void {
    this.#closed.abort(new Error('edges of the house are not wanted any more'));
    clearTimeout(this.#timer);
    this.#links.close();
    this.#listeners.clear();
  }

  #open({ address, network }: LinkAddress): MulticastDNS {
    const socket = openLinkSocket({
      network,
      wants: 'answers',
      labels: [`_${SERVICE_NAME}`],
      now,
      // The next look opens it anew.
      onError: () => this.#links.drop(mdns),
    });
    // Bound to all addresses, because multicast packets are not addressed to that of the interface.
    const mdns = multicastDns({ socket, interface: address, bind: '0.0.0.0' });
    mdns.on('warning', () => {}); // packets that cannot be read
    mdns.on('response', ({ answers, additionals }: ResponsePacket, { address: from }) => {
      this.#list.onRecords([...answers, ...additionals] as never, from, now());
      this.#ask();
    });
    return mdns;
  }

  /** Asks the announced addresses whether they are edges. */
  #ask(): void {
    for (const edge of this.#list.toAsk(now())) {
      void identifyEdge(edge, this.#closed.signal)
        .then((rttMs) => {
          this.#list.onIdentified(edge, rttMs, now());
          for (const listener of this.#listeners) listener({ ...edge, rttMs });
        })
        .catch(() => this.#list.onFailed(edge, now()))
        .finally(() => {
          if (!this.#closed.signal.aborted) this.#ask();
        });
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#closed.signal.aborted) return;
    clearTimeout(this.#timer);
    const query = this.#times.nextAt(this.#list.refreshAt());
    const at = Math.min(query, this.#list.askAt() ?? Infinity);
    const ms = Math.min(MAX_TIMER_MS, Math.max(10, at - now()));
    this.#timer = setTimeout(() => this.#tick(), ms).unref();
  }

  #tick(): void {
    if (this.#times.nextAt(this.#list.refreshAt()) <= now()) {
      const questions = [{ name: SERVICE_TYPE, type: 'PTR' as const }];
      for (const mdns of this.#links?.all ?? []) mdns.query({ questions });
      this.#times.onQueried(now());
      this.#list.onQueried(now());
    }
    this.#ask();
  }
}

function now(): Millis {
  return performance.now();
}
