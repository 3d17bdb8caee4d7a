/**
 * The commands that a process must be told when it is started again, because they were given in its
 * absence. Their number is bounded: instead of too many purges, everything is purged.
 */

import { Revocations } from '@millrace/shared/cdn/admission/revocations';
import type { Command } from '../cache/commands.ts';
import { newPurge } from '../cache/purges.ts';

/** Most purges repeated one by one. */
const MAX_PURGES = 1000;

type Pinning = Extract<Command, { do: 'pin' }>;

export class StandingCommands {
  readonly #purges: Command[] = [];
  readonly #ended = new Revocations();
  /** Pins by id, with the end of the lease in Unix milliseconds. */
  readonly #pins = new Map<string, { command: Pinning; until: number }>();

  /** @param now Unix milliseconds */
  add(command: Command, now: number): void {
    switch (command.do) {
      case 'purge':
        this.#purges.push(command);
        if (this.#purges.length <= MAX_PURGES) return;
        this.#purges.splice(0, this.#purges.length, {
          do: 'purge',
          purge: newPurge({ kind: 'all' }, now),
          network: false,
        });
        return;
      case 'pin':
        this.#pins.set(command.pin.id, { command, until: (command.at ?? now) + command.forMs });
        return this.#forgetEnded(now);
      case 'extend': {
        const pin = this.#pins.get(command.id);
        if (pin === undefined) return;
        const { forMs, at = pin.command.at } = command;
        pin.until = (command.at ?? now) + forMs;
        // A network pin keeps the lease and the beginning that it was given: they are the same at
        // all nodes.
        if (at !== undefined) pin.command = { ...pin.command, forMs, at };
        return;
      }
      case 'release':
        this.#pins.delete(command.id);
        return;
      case 'log-out':
        this.#ended.revoke(command.ending, now);
    }
  }

  /** Returns the commands, in the order in which to carry them out. @param now Unix milliseconds */
  at(now: number): Command[] {
    const pins = [...this.#pins.values()].filter(({ until }) => until > now);
    return [
      ...this.#purges,
      ...pins.map(({ command, until }) =>
        command.at === undefined ? { ...command, forMs: until - now } : command,
      ),
      ...this.#loggedOut(),
    ];
  }

  #loggedOut(): Command[] {
    const { until, sessions } = this.#ended.snapshot;
    if (until === 0 && sessions.length === 0) return [];
    return [{ do: 'log-out', ending: { until, sessions: sessions.map(([id, at]) => [id, at]) } }];
  }

  #forgetEnded(now: number): void {
    for (const [id, { until }] of this.#pins) if (until <= now) this.#pins.delete(id);
  }
}
