/**
 * Turns at something that has room for few at a time, such as the connections to one origin. Whoever
 * waits is served by client: next comes the client with the fewest turns under way, and among
 * those the one that has waited longest. A client that asks for thousands of turns lengthens only
 * its own line.
 */

import { WaitingLine } from '../../base/waiting-line.ts';

interface Client {
  readonly name: string;
  running: number;
  /** Most turns at a time. */
  readonly share: number;
  readonly waiting: WaitingLine<() => void>;
}

interface Place {
  running: number;
  readonly clients: Map<string, Client>;
  /**
   * Lines of the clients that wait and may have another turn, by number of their turns under way,
   * the longest waiting first. Made when needed, because at most places nobody ever waits.
   */
  readonly lines: (WaitingLine<Client> | undefined)[];
}

export class FairTurns {
  readonly #max: number;
  readonly #places = new Map<string, Place>();

  /** @param max turns at one place at a time, at least 1 */
  constructor(max: number) {
    this.#max = max;
  }

  /** Places with turns under way. */
  get size(): number {
    return this.#places.size;
  }

  /**
   * Waits for a turn.
   *
   * @param at the place, for example an origin
   * @param client whose turn it is; the empty text: nobody's in particular
   * @param share most turns of the client at a time, at least 1; the same in each call
   * @returns a function that ends the turn; further calls do nothing
   * @throws the signal's reason
   */
  async take(
    at: string,
    client: string,
    signal: AbortSignal,
    share = this.#max,
  ): Promise<() => void> {
    signal.throwIfAborted();
    const place = this.#place(at);
    const own = clientAt(place, client, share);
    if (place.running < this.#max && own.running < share) count(place, own, 1);
    else await wait(place, own, signal);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#end(at, place, own);
    };
  }

  #place(at: string): Place {
    let place = this.#places.get(at);
    if (place === undefined) {
      place = { running: 0, clients: new Map(), lines: [] };
      this.#places.set(at, place);
    }
    return place;
  }

  #end(at: string, place: Place, client: Client): void {
    count(place, client, -1);
    forgetUnused(place, client);
    // The next one takes over at once, so that no newcomer can slip in before it.
    const next = takeNext(place);
    if (next !== undefined) {
      const go = next.waiting.take();
      count(place, next, 1);
      go?.();
    } else if (place.running === 0) this.#places.delete(at);
  }
}

/** Takes the client that comes next out of its line. */
function takeNext(place: Place): Client | undefined {
  for (const line of place.lines) {
    const client = line?.take();
    if (client !== undefined) return client;
  }
  return undefined;
}

function clientAt(place: Place, name: string, share: number): Client {
  let client = place.clients.get(name);
  if (client === undefined) {
    client = { name, running: 0, share, waiting: new WaitingLine() };
    place.clients.set(name, client);
  }
  return client;
}

/** Changes the turns under way; a client that waits goes to the end of its new line. */
function count(place: Place, client: Client, change: 1 | -1): void {
  place.lines[client.running]?.delete(client);
  client.running += change;
  place.running += change;
  if (client.waiting.size > 0) lineUp(place, client);
}

function lineUp(place: Place, client: Client): void {
  if (client.running >= client.share) return;
  place.lines[client.running] ??= new WaitingLine();
  place.lines[client.running]?.add(client);
}

function forgetUnused(place: Place, client: Client): void {
  if (client.running === 0 && client.waiting.size === 0) place.clients.delete(client.name);
}

function wait(place: Place, client: Client, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onTurn = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    const onAbort = () => {
      client.waiting.delete(onTurn);
      if (client.waiting.size === 0) place.lines[client.running]?.delete(client);
      forgetUnused(place, client);
      reject(signal.reason);
    };
    client.waiting.add(onTurn);
    lineUp(place, client);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
