/**
 * Announces the edge on the links of its machine by multicast DNS (RFC 6762), so that downloads nearby
 * find it. One process of an edge does this for all.
 */

import { randomBytes } from 'node:crypto';
import type { Log } from '@millrace/shared/base/log';
import {
  type Announcement,
  MAX_NAME_CHARS,
  SERVICE_NAME,
  txtOf,
} from '@millrace/shared/house/announcement';
import { openLinkSocket } from '@millrace/shared/node/mdns/link-socket';
import { type LinkAddress, Links } from '@millrace/shared/node/mdns/links';
import { Bonjour } from 'bonjour-service';
import { listensEverywhere } from '../config/announced-at.ts';

/** Longest wait for a goodbye to be sent. */
const GOODBYE_MS = 500;

export interface HouseAnnouncerOptions {
  readonly announcement: Announcement;
  /** Address that the edge listens on: an edge with one address is announced on its link only. */
  readonly host: string;
  readonly log: Log;
}

export class HouseAnnouncer {
  readonly #options: HouseAnnouncerOptions;
  /**
   * Random part of the names: no other edge has the same ones, so nobody need be asked for them first
   * (RFC 6762 8.1), and no neighbour can take them by saying that it has them.
   */
  readonly #id = randomBytes(8).toString('hex');
  #links: Links<Bonjour> | undefined;
  /** Networks that a warning was logged for. */
  readonly #failed = new Set<string>();

  constructor(options: HouseAnnouncerOptions) {
    this.#options = options;
  }

  /** Begins or ends to announce: clients are to come, or to come no more. */
  async setTakesClients(takes: boolean): Promise<void> {
    if (takes) this.#begin();
    else await this.stop();
  }

  /** Says goodbye on all links, so that nobody comes any more (RFC 6762 10.1). */
  async stop(): Promise<void> {
    const links = this.#links;
    this.#links = undefined;
    if (links === undefined) return;
    await Promise.all(links.all.map(goodbye));
    links.close();
  }

  #begin(): void {
    if (this.#links !== undefined) return;
    const { host, log, announcement } = this.#options;
    this.#links = new Links<Bonjour>({
      uses: (address) => listensEverywhere(host) || address === host,
      open: (link) => this.#open(link),
      close: (bonjour) => bonjour.destroy(),
    });
    const links = this.#links.all.length;
    if (links === 0) log.warn({ host }, 'no network yet on which to announce this edge');
    else log.info({ links, port: announcement.port }, 'announced to the local network');
  }

  #open({ address, network }: LinkAddress): Bonjour {
    const { announcement, log } = this.#options;
    const failed = (error: unknown) => {
      if (!this.#failed.has(network)) {
        this.#failed.add(network);
        log.warn({ err: error, network }, 'the edge cannot be announced on this network');
      }
      this.#links?.drop(bonjour);
    };
    const socket = openLinkSocket({
      network,
      wants: 'questions',
      labels: [`_${SERVICE_NAME}`, '_dns-sd'],
      now: () => performance.now(),
      onError: failed,
    });
    // Bound to all addresses, because multicast packets are not addressed to that of the interface.
    const options: object = { socket, interface: address, bind: '0.0.0.0' };
    const bonjour = new Bonjour(options, failed);
    bonjour.publish({
      name: `${announcement.name.slice(0, MAX_NAME_CHARS - 20)} ${this.#id}`,
      type: SERVICE_NAME,
      port: announcement.port,
      host: `millrace-${this.#id}.local`,
      txt: txtOf(announcement),
      probe: false,
    });
    return bonjour;
  }
}

function goodbye(bonjour: Bonjour): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GOODBYE_MS);
    bonjour.unpublishAll(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
