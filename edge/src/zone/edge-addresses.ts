/**
 * Addresses of edges for the answers of a zone: those that a node tells; else those of its public
 * URL, whose host name is looked up from time to time.
 */

import { lookup } from 'node:dns/promises';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { type Labels, labelsBelow } from '@millrace/shared/cdn/zone/zone-name';
import ipaddr from 'ipaddr.js';

/** Pause between two looks at the same name. */
export const LOOK_UP_EVERY_MS = 30_000;
/** Time for which addresses stand in when a name can no longer be looked up. */
const KEEP_MS = 3_600_000;
/** Most addresses of one edge, and most names to look up. */
const MAX_ADDRESSES = 8;
const MAX_NAMES = 500;

interface Known {
  addresses: readonly string[];
  /** When the name was last asked for in an answer, and looked up with success. */
  usedAt: Millis;
  foundAt: Millis;
}

export interface EdgeAddressesOptions {
  /** Zone whose own names are not looked up: this server would ask itself. */
  readonly zone: Labels;
  readonly log: Log;
  readonly now: () => Millis;
  /** Looks a name up; by default with the system's resolver. */
  readonly lookUp?: (host: string) => Promise<readonly string[]>;
}

export class EdgeAddresses {
  readonly #options: EdgeAddressesOptions;
  readonly #names = new Map<string, Known>();
  #refreshing: Promise<void> | undefined;

  constructor(options: EdgeAddressesOptions) {
    this.#options = options;
  }

  /**
   * Returns the addresses of an edge that are known now.
   *
   * @param told addresses that the node tells
   * @param publicUrl its address for clients
   */
  of(told: readonly string[] | undefined, publicUrl: string | undefined): readonly string[] {
    if (told !== undefined && told.length > 0) return told;
    const host = URL.parse(publicUrl ?? '')?.hostname.replace(/^\[(.*)\]$/, '$1');
    if (host === undefined || host === '') return [];
    if (ipaddr.isValid(host)) return [ipaddr.process(host).toString()];
    if (labelsBelow(this.#options.zone, host.toLowerCase().replace(/\.$/, '').split('.')))
      return [];
    const now = this.#options.now();
    const known = this.#names.get(host);
    if (known !== undefined) {
      known.usedAt = now;
      return known.addresses;
    }
    if (this.#names.size < MAX_NAMES) {
      const fresh = { addresses: [], usedAt: now, foundAt: now };
      this.#names.set(host, fresh);
      void this.#lookUp(host, fresh);
    }
    return [];
  }

  /** Looks all names up again that are still used. */
  refresh(): Promise<void> {
    // A slow resolver may need longer than the pause until the next time.
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    for (const [host, known] of this.#names) {
      if (this.#options.now() - known.usedAt > KEEP_MS) this.#names.delete(host);
      else await this.#lookUp(host, known);
    }
  }

  async #lookUp(host: string, known: Known): Promise<void> {
    const now = this.#options.now();
    try {
      const found = await (this.#options.lookUp ?? systemLookUp)(host);
      known.addresses = found.slice(0, MAX_ADDRESSES);
      known.foundAt = now;
    } catch (error) {
      this.#options.log.warn({ err: error, host }, 'the name of an edge cannot be looked up');
      if (now - known.foundAt > KEEP_MS) known.addresses = [];
    }
  }
}

async function systemLookUp(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
