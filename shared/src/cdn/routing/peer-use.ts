/**
 * How much other nodes use a node, and which of them should drop it if that is too much. If all
 * chose only the nearest (NSDI 4.2), nodes with good lines in the middle of large networks would be
 * peers of three times as many nodes as others, and would serve three times as much; no choice
 * among replicas makes up for that.
 *
 * Nodes report in their heartbeats which nodes they see. From that all nodes compute alike which
 * users have a place at a node: the first in an order that is drawn once for each node, by hash, up
 * to what one node sends on average. A user without a place chooses the next nearest node instead,
 * and so on. This ends, as in deferred acceptance (Gale and Shapley), because a user loses its
 * place only to users ahead of it.
 *
 * The same reports tell of nodes that this one does not know, and which nodes can reach them.
 */

import { type Hash64, type HrwNode, hashText, score } from './hrw.ts';

/**
 * Places at a node, as load: 1 is what one node's clients request, spread over its peers. More than
 * 1, so that near nodes can be chosen, but too little to be a burden.
 */
const PLACES = 1.1;
const ROUNDING = 1e-9;

interface Known {
  readonly name: string;
  readonly seed: Hash64;
}

/** A node that uses another one. */
interface User {
  /** Position in the node's order; higher ones come first. */
  readonly position: number;
  /** Load that it sends there, in places. */
  share: number;
  /** Weight of the node, as this user reports it. */
  weight: number;
}

/** Users of a node, in its order. */
interface Used {
  readonly name: string;
  readonly seed: Hash64;
  /** Lowest that a user has reported: no single one can make the node look better than it is. */
  weight: number;
  readonly order: User[];
  readonly byName: Map<string, User>;
  /** Lowest position with a place; undefined: to be computed. */
  bar: number | undefined;
}

export class PeerUse {
  readonly #used = new Map<string, Used>();
  readonly #uses = new Map<string, ReadonlyMap<string, number>>();

  /** Records which nodes a node sees, with their weights. */
  onTold(user: Known, sees: Iterable<readonly [name: string, weight: number]>): void {
    const now = new Map(sees);
    const before = this.#uses.get(user.name);
    const isOld = (name: string, weight: number) => before?.get(name) === weight;
    // The usual case, as heartbeats are many and changes few.
    if (before?.size === now.size && [...now].every(([name, weight]) => isOld(name, weight)))
      return;
    for (const name of before?.keys() ?? []) if (!now.has(name)) this.#remove(name, user.name);
    // A node's requests fall on its peers and itself alike.
    const share = 1 / (1 + now.size);
    for (const [name, weight] of now) {
      if (before?.size === now.size && isOld(name, weight)) continue;
      const used = this.#of(name);
      const entry = used.byName.get(user.name);
      if (entry === undefined) {
        add(used, user, share, weight);
        continue;
      }
      entry.weight = weight;
      used.weight = lowest(used.order);
      if (entry.share !== share) {
        entry.share = share;
        changed(used, entry);
      }
    }
    this.#uses.set(user.name, now);
  }

  /** Forgets a node that is gone, and so uses no other. */
  forget(user: string): void {
    for (const name of this.#uses.get(user)?.keys() ?? []) this.#remove(name, user);
    this.#uses.delete(user);
  }

  /** Nodes that others see, with the lowest weight that any of these reports. */
  get used(): Iterable<HrwNode> {
    return this.#used.values();
  }

  /** Returns the names of the nodes that see the named one. */
  usersOf(name: string): Iterable<string> {
    return this.#used.get(name)?.byName.keys() ?? [];
  }

  /** Returns true while there is a place at `node` for the asking node. */
  isOpen(asking: Known, node: Known): boolean {
    const used = this.#used.get(node.name);
    if (used === undefined) return true;
    used.bar ??= barOf(used.order);
    return score(asking.seed, node.seed) >= used.bar;
  }

  #of(name: string): Used {
    let used = this.#used.get(name);
    if (used === undefined) {
      const seed = hashText(name);
      used = {
        name,
        seed,
        weight: Number.POSITIVE_INFINITY,
        order: [],
        byName: new Map(),
        bar: undefined,
      };
      this.#used.set(name, used);
    }
    return used;
  }

  #remove(name: string, user: string): void {
    const used = this.#used.get(name);
    const entry = used?.byName.get(user);
    if (used === undefined || entry === undefined) return;
    used.byName.delete(user);
    used.order.splice(used.order.indexOf(entry), 1);
    changed(used, entry);
    used.weight = lowest(used.order);
    if (used.order.length === 0) this.#used.delete(name);
  }
}

function add(used: Used, user: Known, share: number, weight: number): void {
  const entry = { position: score(user.seed, used.seed), share, weight };
  used.weight = Math.min(used.weight, weight);
  const behind = used.order.findIndex(({ position }) => position < entry.position);
  used.order.splice(behind < 0 ? used.order.length : behind, 0, entry);
  used.byName.set(user.name, entry);
  changed(used, entry);
}

/**
 * Marks the bar for a new computation, unless the user is below it and so takes no place from
 * others.
 */
function changed(used: Used, { position }: User): void {
  if (used.bar === undefined || position >= used.bar) used.bar = undefined;
}

function barOf(order: readonly User[]): number {
  let taken = 0;
  for (const { position, share } of order) {
    taken += share;
    if (taken > PLACES - ROUNDING) return position;
  }
  return 0;
}

function lowest(order: readonly User[]): number {
  return order.reduce((least, { weight }) => Math.min(least, weight), Number.POSITIVE_INFINITY);
}
