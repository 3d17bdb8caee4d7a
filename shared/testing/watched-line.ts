/** Clients that read from one edge over one line, and the edge that watches which of them vanish. */

import { type Millis, seededRandom } from '../src/base/clock.ts';
import { ClientSilence, type SilentClient } from '../src/cdn/clients/client-silence.ts';
import { type Connection, CrowdedLine, type LineOptions } from './crowded-line.ts';

/** Interval between looks at silent clients, as edges have it; here all are looked at. */
const EVERY_MS = 50;

export interface WatchedLineOptions extends Omit<LineOptions, 'random'> {
  readonly seed: number;
  readonly clients: number;
  /** Time within which the clients come. */
  readonly spreadMs: Millis;
}

export class WatchedLine {
  readonly line: CrowdedLine;
  readonly watched = new Map<Connection, SilentClient>();
  /** Number of live clients that were taken for vanished; each comes back. */
  spurious = 0;
  /** Times after which those that vanished were found. */
  readonly foundMs: Millis[] = [];
  readonly #silence = new ClientSilence();
  #goneAt: Millis = 0;

  constructor({ seed, clients, spreadMs, ...options }: WatchedLineOptions) {
    const random = seededRandom(seed);
    this.line = new CrowdedLine({ ...options, random });
    for (let i = 0; i < clients; i++)
      this.line.clock.at(spreadMs * random(), () => this.#connect());
  }

  #connect(): void {
    this.watched.set(this.line.connect(), this.#silence.watch('line'));
  }

  /** Lets some of the clients vanish that are watched, the oldest connections first. */
  vanish(count: number): void {
    this.#goneAt = this.line.clock.now;
    for (const connection of [...this.watched.keys()].slice(0, count)) {
      connection.hasVanished = true;
    }
  }

  pass(ms: Millis): void {
    for (let left = ms; left > 0; left -= EVERY_MS) {
      this.line.pass(EVERY_MS);
      for (const [connection, client] of this.watched) this.#look(connection, client);
    }
  }

  #look(connection: Connection, client: SilentClient): void {
    const { clock } = this.line;
    if (!this.#silence.observe(client, connection.state(), true, clock.now)) return;
    connection.isClosed = true;
    this.#silence.unwatch(client);
    this.watched.delete(connection);
    if (connection.hasVanished) {
      this.foundMs.push(clock.now - this.#goneAt);
      return;
    }
    this.spurious++;
    this.#connect();
  }
}
