/** The edges as a client sees them, and their order for it: one choice for redirects and the DNS. */

import type { Millis, Random } from '@millrace/shared/base/clock';
import { chooseNear, type NearEdge } from '@millrace/shared/cdn/near/nearest-edge';
import type { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import { kilometres, type Place } from '@millrace/shared/cdn/near/places';
import { minRtt, type Peer } from '@millrace/shared/cdn/routing/peer';
import { networkKey } from '@millrace/shared/node/clients/client-key';
import type { Membership } from '../peers/membership.ts';
import type { GeoPlaces } from './geo-places.ts';

export interface NearEdgesOptions {
  readonly publicUrl: string | undefined;
  readonly membership: Pick<Membership, 'self'>;
  readonly rtts: NetworkRtts;
  readonly places: GeoPlaces | undefined;
  /** Part of what this node can take that is free, 0 to 1. */
  readonly room: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  readonly random: Random;
}

export class NearEdges {
  readonly #options: NearEdgesOptions;

  constructor(options: NearEdgesOptions) {
    this.#options = options;
  }

  /** Looks from one client. @param address of it, or of its network */
  for(address: string): ClientView {
    return new ClientView(this.#options, networkKey(address), this.#options.places?.of(address));
  }
}

/** The edges as one client sees them. */
export class ClientView {
  readonly #options: NearEdgesOptions;
  readonly #network: string | undefined;
  readonly #place: Place | undefined;

  constructor(options: NearEdgesOptions, network: string | undefined, place: Place | undefined) {
    this.#options = options;
    this.#network = network;
    this.#place = place;
  }

  /** This node. */
  own(): NearEdge {
    const { membership, publicUrl, room } = this.#options;
    const { name, load, weight } = membership.self;
    return { name, load, weight, room: room(), peerMs: 0, ...this.#distances(name, publicUrl) };
  }

  /** Another node. */
  peer(peer: Peer): NearEdge {
    const { name, load, weight, room = 1, publicUrl } = peer;
    return { name, load, weight, room, peerMs: minRtt(peer), ...this.#distances(name, publicUrl) };
  }

  /** Sorts edges, the one that the client is sent to first. */
  order<E extends NearEdge>(edges: readonly E[]): readonly E[] {
    const { rtts, random, now } = this.#options;
    const network = this.#network;
    const mayExplore = (name: string) =>
      network !== undefined && !rtts.isExpected(network, name, now());
    const choice = chooseNear(edges, this.own(), mayExplore, random);
    const [first] = choice.edges;
    if (choice.explores && network !== undefined && first !== undefined)
      rtts.onSent(network, first.name, now());
    return choice.edges;
  }

  #distances(name: string, url: string | undefined): Pick<NearEdge, 'rttMs' | 'km'> {
    const { rtts, places, now } = this.#options;
    const place = this.#place;
    const edge = place === undefined || url === undefined ? undefined : places?.ofEdge(url);
    return {
      rttMs: this.#network === undefined ? undefined : rtts.rtt(this.#network, name, now()),
      km: edge === undefined || place === undefined ? undefined : kilometres(place, edge),
    };
  }
}
