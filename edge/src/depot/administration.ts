/** An operator's view of a depot: which files it has, and taking them down. */

import { MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import type {
  AllocationList,
  AllocationView,
  TakenDown,
} from '@millrace/shared/cdn/depot/allocation-view';
import type { Allocation } from './allocation.ts';
import type { Depot } from './depot.ts';

/** Allocations that an operator names: those that agree with all that is given. */
export interface Selection {
  readonly owner?: string | undefined;
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256?: string | undefined;
  readonly id?: string | undefined;
}

/** Most allocations in one answer, and most that one request changes. */
const MAX_AT_ONCE = 1000;

export class DepotAdministration {
  readonly #depot: Depot;
  readonly #log: Log;

  constructor(depot: Depot, log: Log) {
    this.#depot = depot;
    this.#log = log;
  }

  /** Waits until all allocations are there. @throws as `Depot.ready` */
  ready(signal: AbortSignal): Promise<void> {
    return this.#depot.ready(signal);
  }

  /** Lists allocations. */
  list(selection: Selection): AllocationList {
    let [count, bytes] = [0, 0];
    const allocations: AllocationView[] = [];
    for (const allocation of this.#select(selection)) {
      count++;
      bytes += allocation.offset;
      if (count <= MAX_AT_ONCE) allocations.push(this.#view(allocation));
    }
    return { count, bytes, allocations };
  }

  /**
   * Deletes allocations, blocks their content, or takes its block back.
   *
   * @param block true: the content is neither taken nor served from now on; false: it is again
   * @throws MillraceError `bad-option` if nothing is selected by name or to be done, or too much is
   *   blocked
   */
  async take(
    selection: Selection,
    { remove, block }: { readonly remove: boolean; readonly block: boolean | undefined },
  ): Promise<TakenDown> {
    const { owner, sha256, id } = selection;
    if ((owner ?? sha256 ?? id) === undefined) {
      throw new MillraceError('bad-option', 'owner, sha256 or id is needed');
    }
    if (!remove && block === undefined) {
      throw new MillraceError('bad-option', 'delete or block is needed');
    }
    const all = [...this.#select(selection)];
    const due = all.filter((one) => remove || this.#isOther(one, block));
    const taken = all.length > MAX_AT_ONCE ? due.slice(0, MAX_AT_ONCE) : all;
    const digests = new Set(taken.flatMap(({ head }) => head.final?.sha256 ?? []));
    // Also content that the depot does not have: somebody may upload it yet.
    if (sha256 !== undefined) digests.add(sha256);
    const blocked = block === undefined ? [] : await this.#block([...digests], block);
    const views = taken.map((allocation) => this.#view(allocation));
    // Somebody else, or its end, may have come first.
    const removed = remove ? taken.filter((one) => this.#depot.get(one.head.id) === one) : [];
    const ended = removed.map((one) => this.#depot.end(one));
    const told = [...blocked, ...removed].map((one) => this.#depot.tell(one));
    const ids = views.map((view) => view.id);
    this.#log.warn({ ...selection, remove, block, ids }, 'an operator has changed the depot');
    await Promise.all([...ended, ...told]);
    return {
      digests: block === undefined ? [] : [...digests],
      allocations: views,
      left: Math.max(0, due.length - taken.length),
    };
  }

  /** Returns true for content that is not blocked yet, or still is. */
  #isOther({ head: { final } }: Allocation, block: boolean | undefined): boolean {
    if (block === undefined || final === undefined) return false;
    return this.#depot.blocked.has(final.sha256) !== block;
  }

  /** @returns allocations of which other nodes are to be told */
  async #block(digests: readonly string[], isBlocked: boolean): Promise<Allocation[]> {
    await this.#depot.blocked.set(digests, isBlocked);
    if (!isBlocked) return [];
    const changed = new Set(digests);
    const blocked = [...this.#depot.allocations].filter(({ head: { final } }) => {
      return final !== undefined && changed.has(final.sha256);
    });
    for (const one of blocked) one.endReaders(new MillraceError('content-blocked'));
    return blocked;
  }

  *#select({ owner, sha256, id }: Selection): Iterable<Allocation> {
    if (id !== undefined) {
      const one = this.#depot.get(id);
      if (one !== undefined && agrees(one, { owner, sha256 })) yield one;
      return;
    }
    for (const allocation of this.#depot.allocations) {
      if (agrees(allocation, { owner, sha256 })) yield allocation;
    }
  }

  #view({ head, offset }: Allocation): AllocationView {
    const { id, owner, name, final, createdAt, expiresAt, damaged = false } = head;
    const sha256 = final?.sha256;
    const blocked = this.#depot.blocked.has(sha256);
    const complete = final !== undefined;
    return {
      ...{ id, owner, name, bytes: offset, complete, sha256 },
      ...{ createdAt, expiresAt, damaged, blocked },
    };
  }
}

function agrees({ head }: Allocation, { owner, sha256 }: Omit<Selection, 'id'>): boolean {
  if (owner !== undefined && head.owner !== owner) return false;
  return sha256 === undefined || head.final?.sha256 === sha256;
}
