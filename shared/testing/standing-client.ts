/**
 * Runs the real transfer of a client that stands still again and again, from one good source and
 * others that never finish. What sources send meanwhile waits in the buffers of the system. A
 * client that wakes looks at its clock first, and reads what has come later, as real ones do.
 */

import { AwakeClock } from '../src/base/awake-clock.ts';
import { type ByteRange, RangeSet, rangeBytes } from '../src/base/byte-range.ts';
import { type Millis, type Random, seededRandom } from '../src/base/clock.ts';
import { MillraceError } from '../src/base/errors.ts';
import { Scheduler } from '../src/download/scheduler/scheduler.ts';
import { BlockTransfer } from '../src/download/transfer/block-transfer.ts';
import { SourcePool } from '../src/download/transfer/source-pool.ts';
import type { OpenAnswer, Sink } from '../src/download/transfer/transfer-ports.ts';
import { Timers } from './timers.ts';
import { freeSeats, TestSource } from './transfer-world.ts';

const TICK_MS = 10;
/** Number of promise turns between events: more than any step of a transfer needs. */
const TURNS = 60;
const AWAKE_TICK_MS = 100;
/** Most bytes that the system keeps for a connection, and most bytes that one read brings. */
const BUFFER_BYTES = 400_000;
const PIECE = new Uint8Array(256 * 1024);

/** How a source answers each request. */
interface Behaviour {
  /** Time to the head; infinite: it never comes. */
  readonly headMs: Millis;
  /** Bytes that come with the head, and bytes per second afterwards. */
  readonly first: number;
  readonly rate: number;
  /** True if the last byte never comes. */
  readonly isEndless?: boolean;
  /** Chance that the connection breaks in a tick. */
  readonly breaks?: number;
  /** True if all requests are refused. */
  readonly refuses?: boolean;
}

const good = (random: Random): Behaviour => ({
  headMs: pick(random, [5, 50, 300]),
  first: 0,
  rate: pick(random, [1e6, 1e7]),
  breaks: pick(random, [0, 0, 0.004]),
});

const BAD: Readonly<Record<string, Behaviour>> = {
  dripping: { headMs: 10, first: 1000, rate: 5, isEndless: true },
  stalling: { headMs: 10, first: 50_000, rate: 0 },
  silent: { headMs: 10, first: 0, rate: 0 },
  mute: { headMs: Number.POSITIVE_INFINITY, first: 0, rate: 0 },
  slow: { headMs: 100, first: 2000, rate: 3000 },
  late: { headMs: 1500, first: 0, rate: 1e6 },
  breaking: { headMs: 20, first: 0, rate: 500_000, breaks: 0.05 },
  refusing: { headMs: 20, first: 0, rate: 0, refuses: true },
};

/** Longest time after which the good source is found. */
const MOST_LATE_MS = 8000;

/** Longest standstills, and longest times awake between them. */
const RHYTHMS: readonly (readonly [Millis, Millis])[] = [
  [0, 1e9],
  [300, 200],
  [700, 600],
  [1500, 60],
  [2500, 1200],
  [6000, 3000],
];

/** An answer on its way. */
interface Answer {
  readonly source: TestSource;
  readonly behaviour: Behaviour;
  readonly range: ByteRange;
  readonly headAt: Millis;
  readonly head: PromiseWithResolvers<void>;
  readonly end: PromiseWithResolvers<void>;
  /** Bytes that the source has sent, and bytes that the client has read. */
  sent: number;
  read: number;
  sink: Sink | undefined;
  heardAt: Millis;
  isBroken: boolean;
}

export class StandingClient {
  /** Sources, the requested one first. */
  readonly names: readonly string[];
  readonly stored = new RangeSet();
  /** Time that has passed, and the part of it in which the client stood still. */
  now: Millis = 0;
  stoodMs: Millis = 0;
  readonly #random: Random;
  readonly #behaviours: readonly Behaviour[];
  readonly #sources: readonly TestSource[];
  readonly #length: number;
  readonly #timeoutMs: Millis;
  readonly #transfer: BlockTransfer<TestSource>;
  readonly #timers = new Timers(() => this.now);
  readonly #awake = new AwakeClock(0, 2 * AWAKE_TICK_MS);
  readonly #answers = new Set<Answer>();

  /** @param seed decides everything: the same seed gives the same run */
  constructor(seed: number) {
    const random = seededRandom(seed);
    this.#random = random;
    const others = Array.from({ length: pick(random, [1, 1, 2, 3, 12]) }, () =>
      pick(random, Object.keys(BAD)),
    );
    this.names = random() < 0.5 ? ['good', ...others] : [...others, 'good'];
    this.#behaviours = this.names.map((name) => BAD[name] ?? good(random));
    // The origin helps edges only while they bring next to nothing: slow ones are enough.
    const isSlow = others.includes('slow') || others.includes('stalling');
    const kind = random() < 0.2 && !isSlow ? 'edge' : 'mirror';
    this.#sources = this.names.map(
      (name, i) => new TestSource(`${i} ${name}`, i ? kind : 'origin'),
    );
    this.#length = pick(random, [70_000, 300_000, 3_000_000]);
    this.#timeoutMs = pick(random, [3000, 8000, 20_000]);
    this.#transfer = this.#newTransfer(random);
    // The good source may be found late.
    const late = this.#sources.find(({ id }) => id.endsWith('good'));
    if (late === undefined || random() < 0.7) return;
    late.admitted = false;
    this.#timers.after(random() * MOST_LATE_MS, () => {
      late.admitted = true;
      this.#transfer.kick();
    });
  }

  #newTransfer(random: Random): BlockTransfer<TestSource> {
    const length = this.#length;
    const connections = pick(random, [1, 2, 4, 16]);
    // The app's clock stands still while its process does, the extension's clock does not.
    const now = random() < 0.5 ? () => this.now : () => this.#awake.read(this.now);
    const mode = pick(random, ['basic', 'aggressive', 'progress'] as const);
    const redundantBytes = pick(random, [0, length * 0.02]);
    const isOpenEnded = random() < 0.5;
    const scheduler = new Scheduler({ length, mode, redundantBytes, connections, isOpenEnded }, 0);
    const pool = new SourcePool<TestSource>(freeSeats(pick(random, [1, connections])), now);
    for (const source of this.#sources) {
      pool.add(source);
      scheduler.addSource(source.id);
    }
    const write = (position: number, bytes: Uint8Array) =>
      void this.stored.add({ start: position, end: position + bytes.length });
    return new BlockTransfer<TestSource>({
      ...{ scheduler, pool, connections },
      store: {
        writer: () => ({ write, end: async () => {} }),
        confirm: async () => {},
        forget: async (ranges) => {
          for (const range of ranges) this.stored.remove(range);
        },
      },
      open: (source, range, signal) => this.#open(source, range, signal),
      session: {
        now,
        wait: (ms, signal) => this.#timers.wait(ms, signal),
        signal: new AbortController().signal,
        onBytes: () => undefined,
      },
    });
  }

  /**
   * Runs until the file is complete.
   *
   * @param mostMs longest time awake
   * @returns true if the file is complete
   */
  async run(mostMs: Millis): Promise<boolean> {
    let ended = false;
    const end = () => {
      ended = true;
    };
    this.#transfer.run().then(end, end);
    const [longest, between] = pick(this.#random, RHYTHMS);
    let standsAt = this.#random() * between;
    let tickedAt = 0;
    while (!ended && this.now - this.stoodMs < mostMs) {
      let ms = TICK_MS;
      if (this.now >= standsAt) {
        ms = this.#random() * longest;
        this.stoodMs += ms;
        standsAt = this.now + ms + this.#random() * between;
      }
      for (const until = this.now + ms; this.now < until; this.#send()) this.now += TICK_MS;
      while ((this.#timers.nextAt ?? Number.POSITIVE_INFINITY) <= this.now) {
        this.#timers.fireNext();
        await settle();
      }
      if (this.now - tickedAt >= AWAKE_TICK_MS) {
        tickedAt = this.now;
        this.#awake.tick(this.now);
      }
      for (const answer of this.#answers) await this.#read(answer);
      await settle();
    }
    return this.stored.covers({ start: 0, end: this.#length });
  }

  /** Lets sources send for a tick. */
  #send(): void {
    for (const answer of this.#answers) {
      const { behaviour, headAt, range } = answer;
      if (this.now < headAt || behaviour.refuses) continue;
      const { first, rate, isEndless, breaks = 0 } = behaviour;
      if (this.#random() < breaks) answer.isBroken = true;
      const due = first + (rate * (this.now - headAt)) / 1000;
      const most = rangeBytes(range) - (isEndless ? 1 : 0);
      const room = answer.read + BUFFER_BYTES;
      answer.sent = Math.max(answer.sent, Math.floor(Math.min(due, most, room)));
    }
  }

  /** Lets the client read what has come. */
  async #read(answer: Answer): Promise<void> {
    const { behaviour, range, headAt, head, end, sink } = answer;
    if (this.now >= headAt) {
      if (behaviour.refuses) return this.#fail(answer, new MillraceError('origin-busy'));
      head.resolve();
    }
    const count = Math.min(answer.sent - answer.read, PIECE.length);
    if (sink !== undefined && count > 0) {
      const position = range.start + answer.read;
      answer.read += count;
      answer.heardAt = this.now;
      try {
        void sink(position, PIECE.subarray(0, count));
      } catch (error) {
        this.#fail(answer, error);
      }
      await settle();
    }
    if (!this.#answers.has(answer)) return;
    const isRead = answer.read === answer.sent;
    if (answer.read === rangeBytes(range)) {
      this.#answers.delete(answer);
      end.resolve();
    } else if (isRead && answer.isBroken) {
      this.#fail(answer, new MillraceError('origin-reset'));
    } else if (isRead && this.now - answer.heardAt > this.#timeoutMs) {
      this.#fail(answer, new MillraceError('origin-timeout'));
    }
  }

  #fail(answer: Answer, error: unknown): void {
    this.#answers.delete(answer);
    answer.head.reject(error);
    answer.end.reject(error);
  }

  async #open(source: TestSource, range: ByteRange, signal: AbortSignal): Promise<OpenAnswer> {
    const behaviour = this.#behaviours[this.#sources.indexOf(source)] as Behaviour;
    const answer: Answer = {
      ...{ source, behaviour, range, headAt: this.now + behaviour.headMs, heardAt: this.now },
      head: Promise.withResolvers(),
      end: Promise.withResolvers(),
      ...{ sent: 0, read: 0, sink: undefined, isBroken: false },
    };
    answer.end.promise.catch(() => {});
    this.#answers.add(answer);
    signal.addEventListener('abort', () => this.#fail(answer, signal.reason), { once: true });
    if (signal.aborted) this.#fail(answer, signal.reason);
    await answer.head.promise;
    const read = (sink: Sink) => {
      answer.sink = sink;
      return answer.end.promise;
    };
    return { checked: false, headMs: behaviour.headMs, read };
  }
}

/** Runs everything that follows from the last event. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
}

function pick<T>(random: Random, all: readonly T[]): T {
  return all[Math.floor(random() * all.length)] as T;
}
