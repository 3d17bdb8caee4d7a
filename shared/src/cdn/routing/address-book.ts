/**
 * The addresses at which nodes may be found: which of them is asked next, and which are forgotten
 * (NSDI 4.2, where all nodes are asked in turn).
 */

/** Most addresses remembered: any node may name more. */
export const MAX_ADDRESSES = 4000;
/** Unanswered requests in a row after which an address that was only heard of is forgotten. */
export const MAX_VAIN = 20;

interface Address {
  /** Given by the operator: asked for ever, whether it answers or not. */
  isSeed: boolean;
  vain: number;
  /** This node itself answered there, or a node known under another address. */
  isOther: boolean;
}

export class AddressBook {
  readonly #addresses = new Map<string, Address>();
  #queue: string[] = [];

  get urls(): string[] {
    return [...this.#addresses.keys()];
  }

  has(url: string): boolean {
    return this.#addresses.has(url);
  }

  /**
   * Adds an address that another node has named.
   *
   * @returns false if it is known, or there is no room
   */
  hear(url: string): boolean {
    if (this.has(url) || this.#addresses.size >= MAX_ADDRESSES) return false;
    this.#add(url, false);
    return true;
  }

  /** Adds an address that the operator has given. @returns false if it is known */
  addSeed(url: string): boolean {
    if (this.has(url)) return false;
    this.#add(url, true);
    return true;
  }

  /** Sets the addresses that the operator's names resolve to now; earlier ones count as hearsay. */
  setSeeds(urls: Iterable<string>): void {
    const seeds = new Set(urls);
    for (const [url, address] of this.#addresses) address.isSeed = seeds.has(url);
    for (const url of seeds) this.addSeed(url);
  }

  /** The address to ask next: all in turn, except further addresses of known nodes. */
  next(): string | undefined {
    if (this.#queue.length === 0) this.#queue = this.urls;
    let url = this.#queue.shift();
    while (url !== undefined && this.#addresses.get(url)?.isOther !== false) {
      url = this.#queue.shift();
    }
    return url;
  }

  /** @param isOther this node itself answered, or a node known under another address */
  onAnswer(url: string, isOther: boolean): void {
    const address = this.#addresses.get(url);
    if (address !== undefined) Object.assign(address, { isOther, vain: 0 });
  }

  onMiss(url: string): void {
    // If the node has died, it may live on under another of its addresses.
    for (const other of this.#addresses.values()) other.isOther = false;
    const address = this.#addresses.get(url);
    if (address !== undefined && ++address.vain >= MAX_VAIN && !address.isSeed) {
      this.#addresses.delete(url);
    }
  }

  #add(url: string, isSeed: boolean): void {
    this.#addresses.set(url, { isSeed, vain: 0, isOther: false });
  }
}
