/**
 * Simulated edges as sources of a download: each request for a range is a separate response, as for
 * a plain client. The unrequested parts of the first and the last chunk take no time on the wire.
 */

import type { ByteRange } from '@millrace/shared/base/byte-range';
import type { MillraceError } from '@millrace/shared/base/errors';
import type {
  DownloadConnection,
  DownloadReceiver,
  DownloadSource,
} from '@millrace/shared/testing/simulated-download';
import { SimDelivery } from './delivery.ts';
import type { SimNode } from './node.ts';
import { type Place, rttMs } from './places.ts';
import { type Host, PartWire } from './wire.ts';

/** Place of a client in the network. */
export interface Seat {
  readonly host: Host;
  /** Node on whose machine the client runs, if any. */
  readonly home?: SimNode | undefined;
  readonly place: Place;
}

export class EdgeSource implements DownloadSource {
  readonly id: string;
  readonly #node: SimNode;
  readonly #seat: Seat;

  constructor(node: SimNode, seat: Seat) {
    this.id = node.name;
    this.#node = node;
    this.#seat = seat;
  }

  connect(): DownloadConnection {
    return new EdgeConnection(this.#node, this.#seat);
  }
}

class EdgeConnection implements DownloadConnection {
  readonly #node: SimNode;
  readonly #seat: Seat;
  #closed = false;
  #delivery: SimDelivery | undefined;

  constructor(node: SimNode, seat: Seat) {
    this.#node = node;
    this.#seat = seat;
  }

  get closed(): boolean {
    return this.#closed;
  }

  request(range: ByteRange, receiver: DownloadReceiver): void {
    const { host, home, place } = this.#seat;
    const node = this.#node;
    const { clock } = node.world.sim;
    const delayMs = rttMs(place, node.place) / 2;
    const broken = () => {
      if (this.#closed) return;
      this.close();
      receiver.onReset();
    };
    clock.in(delayMs, () => {
      if (this.#closed || node.state === 'frozen') return;
      if (node.state === 'gone') return clock.in(delayMs, broken);
      const { chunkBytes } = node.world.o;
      const first = Math.floor(range.start / chunkBytes);
      const reader = new InOrder(range, chunkBytes, receiver);
      const [start, end] = [range.start - first * chunkBytes, range.end - first * chunkBytes];
      const part = ({ up, down }: Host) => ({
        up: new PartWire(up, start, end),
        down: new PartWire(down, start, end),
      });
      this.#delivery = new SimDelivery({
        ...{ node, delayMs, first, inOrder: true },
        from: part(node === home ? host : node),
        to: part(node === home ? host : (home ?? host)),
        count: Math.ceil(range.end / chunkBytes) - first,
        onBytes: (chunk, count) => reader.onBytes(chunk, count),
        onEnd: (error: MillraceError | undefined) => error !== undefined && broken(),
      });
    });
  }

  close(): void {
    this.#closed = true;
    this.#delivery?.cancel();
  }
}

/** Turns chunks, two of which may be on the wire at a time, into a range in order. */
class InOrder {
  readonly #chunkBytes: number;
  readonly #end: number;
  readonly #receiver: DownloadReceiver;
  readonly #came = new Map<number, number>();
  #at: number;

  constructor({ start, end }: ByteRange, chunkBytes: number, receiver: DownloadReceiver) {
    this.#chunkBytes = chunkBytes;
    this.#at = start;
    this.#end = end;
    this.#receiver = receiver;
  }

  onBytes(chunk: number, count: number): void {
    this.#came.set(chunk, (this.#came.get(chunk) ?? 0) + count);
    const from = this.#at;
    for (;;) {
      const reading = Math.floor(this.#at / this.#chunkBytes);
      const begin = reading * this.#chunkBytes;
      const there = Math.min(this.#end, begin + (this.#came.get(reading) ?? 0));
      if (there <= this.#at) break;
      this.#at = there;
    }
    if (this.#at > from) this.#receiver.onData(this.#at - from);
  }
}
