import { describe, expect, test } from '@jest/globals';
import { type Connection, CrowdedLine, type LineOptions } from '../../../testing/crowded-line.ts';
import { seededRandom } from '../../base/clock.ts';
import { ClientSilence, LONGEST_SILENCE_MS, type SilentClient } from './client-silence.ts';

const SEED = Number(process.env.MILLRACE_TEST_SEED ?? Math.floor(Math.random() * 1e6));
/** Interval between looks at silent clients, as edges have it; here all are looked at. */
const EVERY_MS = 50;

/** Clients that read from one edge over one line, as the edge sees them. */
class Stage {
  readonly line: CrowdedLine;
  readonly silence = new ClientSilence();
  readonly watched = new Map<Connection, SilentClient>();
  /** Live clients that were taken for vanished, and the times after which vanished ones were found. */
  spurious = 0;
  readonly foundMs: number[] = [];
  #goneAt = 0;

  constructor(options: Omit<LineOptions, 'random'>, clients: number, seed = SEED) {
    const random = seededRandom(seed);
    this.line = new CrowdedLine({ ...options, random });
    for (let i = 0; i < clients; i++) this.line.clock.at(5000 * random(), () => this.#connect());
  }

  #connect(): void {
    this.watched.set(this.line.connect(), this.silence.watch('a'));
  }

  /** Some clients vanish, the first ones that came. */
  vanish(count: number): void {
    this.#goneAt = this.line.clock.now;
    for (const connection of this.line.connections.slice(0, count)) connection.hasVanished = true;
  }

  pass(ms: number): void {
    for (let left = ms; left > 0; left -= EVERY_MS) {
      this.line.pass(EVERY_MS);
      for (const [connection, client] of this.watched) this.#look(connection, client);
    }
  }

  #look(connection: Connection, client: SilentClient): void {
    const { now } = this.line.clock;
    if (!this.silence.observe(client, connection.state(), true, now)) return;
    connection.isClosed = true;
    this.silence.unwatch(client);
    this.watched.delete(connection);
    if (connection.hasVanished) this.foundMs.push(now - this.#goneAt);
    else this.spurious++;
  }
}

/** The line of ANYCAST figure 8, and one with room for all. */
const CROWDED = { mbit: 50, rttMs: 20, queue: 600 };
const WIDE = { mbit: 1000, rttMs: 50, queue: 4000 };

describe('a line that a thousand clients fill', () => {
  test('makes hardly any of them count as vanished', () => {
    const stage = new Stage(CROWDED, 1000);
    stage.pass(30_000);
    const isGood = stage.spurious <= 2 && stage.line.delivered > 100_000;
    const { spurious } = stage;
    expect({ seed: SEED, spurious, isGood }).toMatchObject({ isGood: true });
  });

  test('keeps those that vanish from being found for a minute, and no longer', () => {
    const stage = new Stage(CROWDED, 300);
    stage.pass(10_000);
    stage.vanish(5);
    stage.pass(LONGEST_SILENCE_MS + 5000);
    expect({ seed: SEED, found: stage.foundMs.length }).toEqual({ seed: SEED, found: 5 });
  });

  test('is told from one that is cut: all clients of that are found soon', () => {
    const stage = new Stage(CROWDED, 300);
    stage.pass(10_000);
    const left = stage.watched.size;
    stage.vanish(300);
    stage.pass(5000);
    const found = stage.foundMs.length;
    // A few that were silent before have timeouts that last longer.
    expect({ seed: SEED, found, isGood: found >= 0.95 * left }).toMatchObject({ isGood: true });
  });
});

test('on a line with room, clients that vanish are found after two timeouts', () => {
  const stage = new Stage(WIDE, 20);
  stage.pass(8000);
  stage.vanish(10);
  stage.pass(3000);
  const { foundMs, spurious } = stage;
  const isGood = foundMs.length === 10 && spurious === 0;
  expect({ seed: SEED, foundMs, spurious, isGood }).toMatchObject({ isGood: true });
});
