/**
 * Lets other nodes keep copies of the exNodes of this node's depot: when one is complete, replaced, or
 * gets another lease, and again whenever nodes have come or gone, or this one has started. Nodes learn
 * by purges that an exNode has ended or changed.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { FairTurns } from '@millrace/shared/cdn/admission/fair-turns';
import { PeerFailure } from '@millrace/shared/cdn/fetch/peer-failure';
import type { Peer } from '@millrace/shared/cdn/routing/peer';
import { EXNODE_TYPE } from '@millrace/shared/exnode/exnode';
import { sleep } from '@millrace/shared/node/sleep';
import { MAX_DOCUMENT_BYTES } from '../compose/whole-files.ts';
import type { Allocation } from '../depot/allocation.ts';
import type { Depot } from '../depot/depot.ts';
import type { DepotPeers } from '../peers/depot-peers.ts';

export interface ExnodePublisherOptions {
  readonly depot: Pick<Depot, 'allocations' | 'get' | 'isReady'>;
  readonly depots: Pick<DepotPeers, 'keepers' | 'askToKeep'>;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Longest wait of an upload for the copies; for tests. */
  readonly maxWaitMs?: Millis;
}

/** The last attempt to publish an exNode. */
interface Published {
  /** Edition, lease, and the nodes that have it; undefined: not all have taken it. */
  readonly stamp: string | undefined;
  /** Monotonic. */
  readonly at: Millis;
}

/** ExNodes that are published at a time. */
const AT_ONCE = 4;
/** Longest wait of an upload: a node that has just died answers no more. */
const MAX_WAIT_MS: Millis = 5000;
/** Allocations that are looked at in one round, and exNodes among these. */
const LOOKED_AT = 20_000;
const CHECKED = 200;
/** Pause between two rounds through all allocations. */
const PAUSE_MS: Millis = 30_000;
/** Time after which a node that has not taken an exNode is asked again, and one that has taken it. */
const RETRY_MS: Millis = 60_000;
const AGAIN_MS: Millis = 6 * 3_600_000;
const FOR_EVER = new AbortController().signal;

export class ExnodePublisher {
  readonly #options: ExnodePublisherOptions;
  readonly #turns = new FairTurns(AT_ONCE);
  readonly #published = new Map<string, Published>();
  /** The round that is under way. */
  #round: Iterator<Allocation> | undefined;
  #nextRoundAt: Millis = Number.NEGATIVE_INFINITY;
  #running = 0;

  constructor(options: ExnodePublisherOptions) {
    this.#options = options;
  }

  /**
   * Publishes an exNode; other allocations are none. Resolves when nodes have it, or after some
   * seconds; never rejects.
   */
  async publish(allocation: Allocation): Promise<void> {
    if (!isExnode(allocation)) return;
    const waiting = new AbortController();
    const { maxWaitMs = MAX_WAIT_MS } = this.#options;
    await Promise.race([
      this.#publish(allocation),
      sleep(maxWaitMs, waiting.signal).catch(() => {}),
    ]);
    waiting.abort();
  }

  /** Goes on through all exNodes, and publishes those that not all nodes have which are to keep them. */
  beat(): void {
    const { depot, now } = this.#options;
    if (this.#round === undefined) {
      if (now() < this.#nextRoundAt || !depot.isReady) return;
      for (const id of this.#published.keys()) {
        if (depot.get(id) === undefined) this.#published.delete(id);
      }
      this.#round = depot.allocations[Symbol.iterator]();
    }
    let left = CHECKED;
    for (let looked = 0; looked < LOOKED_AT && left > 0; looked++) {
      // More would only wait for their turn.
      if (this.#running > AT_ONCE * 2) return;
      const { value, done } = this.#round.next();
      if (done === true) {
        this.#round = undefined;
        this.#nextRoundAt = now() + PAUSE_MS;
        return;
      }
      if (!isExnode(value)) continue;
      left--;
      if (this.#isDue(value)) void this.#publish(value);
    }
  }

  #isDue(allocation: Allocation): boolean {
    const { depots, now } = this.#options;
    const { id } = allocation.head;
    const published = this.#published.get(id);
    if (published === undefined) return true;
    const age = now() - published.at;
    if (published.stamp === undefined) return age > RETRY_MS;
    return age > AGAIN_MS || published.stamp !== stampOf(allocation, depots.keepers(id));
  }

  async #publish(allocation: Allocation): Promise<void> {
    const { depots, now } = this.#options;
    const { id } = allocation.head;
    this.#running++;
    const end = await this.#turns.take('', '', FOR_EVER);
    try {
      const keepers = depots.keepers(id);
      const stamp = stampOf(allocation, keepers);
      const taken = await Promise.all(keepers.map((peer) => this.#ask(peer, allocation)));
      const isTaken = taken.every((one) => one);
      this.#published.set(id, { stamp: isTaken ? stamp : undefined, at: now() });
    } finally {
      this.#running--;
      end();
    }
  }

  /** Asks a node to keep an exNode. @returns true if it has the present one */
  async #ask(peer: Peer, allocation: Allocation): Promise<boolean> {
    const { depots, log } = this.#options;
    const { id, proofs } = allocation.head;
    try {
      const { sha256 } = await depots.askToKeep(peer, id, proofs.read, FOR_EVER);
      return sha256 === allocation.head.final?.sha256;
    } catch (thrown) {
      const { code, detail } = asMillraceError(
        thrown instanceof PeerFailure ? thrown.reason : thrown,
      );
      log.debug({ id, peer: peer.name, code, detail }, 'a node keeps no copy of an exNode');
      return false;
    }
  }
}

function isExnode(allocation: Allocation): boolean {
  return (
    allocation.hasType(EXNODE_TYPE) &&
    allocation.isComplete &&
    allocation.offset <= MAX_DOCUMENT_BYTES
  );
}

function stampOf({ head }: Allocation, keepers: readonly Peer[]): string {
  const names = keepers.map(({ name }) => name);
  return [head.edition ?? 0, head.expiresAt, ...names.sort()].join(' ');
}
