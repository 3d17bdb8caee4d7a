/** Follows the links of this machine: the interfaces with an IPv4 address that come and go. */

import { networkInterfaces } from 'node:os';

/** Interval of looking for interfaces that have come or gone, in milliseconds. */
const LOOK_MS = 10_000;
/** Most links that are used: machines with containers have many. */
const MAX_LINKS = 16;

export interface LinkAddress {
  readonly address: string;
  /** Such as `192.168.1.5/24`. */
  readonly network: string;
}

export interface LinksOptions<L> {
  /** Returns true for an address whose link is to be used; default: all but loopback. */
  readonly uses?: ((address: string) => boolean) | undefined;
  readonly open: (link: LinkAddress) => L;
  readonly close: (link: L) => void;
  /** Called after links have come or gone. */
  readonly onChange?: (() => void) | undefined;
}

export class Links<L> {
  readonly #options: LinksOptions<L>;
  readonly #open = new Map<string, L>();
  readonly #timer: NodeJS.Timeout;

  /** Opens what is there, and what comes from now on. */
  constructor(options: LinksOptions<L>) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
    this.look();
  }

  get all(): readonly L[] {
    return [...this.#open.values()];
  }

  /** Looks for links that have come or gone. */
  look(): void {
    const { open, close, onChange } = this.#options;
    const there = this.#there();
    let changed = false;
    for (const [network, link] of this.#open) {
      if (there.has(network)) continue;
      this.#open.delete(network);
      close(link);
      changed = true;
    }
    for (const [network, address] of there) {
      if (this.#open.has(network) || this.#open.size >= MAX_LINKS) continue;
      this.#open.set(network, open({ network, address }));
      changed = true;
    }
    if (changed) onChange?.();
  }

  /** Forgets a link that does not work any more; it is opened anew with the next look. */
  drop(link: L): void {
    for (const [network, other] of this.#open) {
      if (other !== link) continue;
      this.#open.delete(network);
      this.#options.close(link);
    }
  }

  /** Closes all links. */
  close(): void {
    clearInterval(this.#timer);
    for (const link of this.#open.values()) this.#options.close(link);
    this.#open.clear();
  }

  /** Returns the addresses of the machine by network. */
  #there(): Map<string, string> {
    const { uses = () => true } = this.#options;
    const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const usable = all.filter(
      ({ family, internal, address, cidr }) =>
        family === 'IPv4' && !internal && cidr !== null && uses(address),
    );
    return new Map(usable.map(({ cidr, address }) => [cidr as string, address]));
  }
}
