import { describe, expect, test } from '@jest/globals';
import { type NetworkLook, NetworkState } from './network-state.ts';

const EVERY = 2000;

/** A machine whose clocks and addresses are set by hand. */
class Machine {
  #look: NetworkLook = {
    addresses: ['10.0.0.1', 'fe80::1'],
    now: 5000,
    wallNow: 1_700_000_000_000,
  };
  readonly #state = new NetworkState(this.#look);

  after(ms: number, change: { wallMs?: number; addresses?: readonly string[] } = {}) {
    this.#look = {
      addresses: change.addresses ?? this.#look.addresses,
      now: this.#look.now + ms,
      wallNow: this.#look.wallNow + (change.wallMs ?? ms),
    };
    return this.#state.observe(this.#look, EVERY);
  }
}

describe('NetworkState', () => {
  test('reports nothing while nothing changes', () => {
    const machine = new Machine();
    for (let i = 0; i < 1000; i++) expect(machine.after(EVERY + (i % 7) * 100)).toBeUndefined();
    expect(machine.after(EVERY, { addresses: ['fe80::1', '10.0.0.1'] })).toBeUndefined();
  });

  test('a replaced, added or removed address is reported as a change, once', () => {
    const machine = new Machine();
    for (const addresses of [['10.0.0.2', 'fe80::1'], ['10.0.0.2', 'fe80::1', '::5'], ['::5']]) {
      expect(machine.after(EVERY, { addresses })).toBe('changed');
      expect(machine.after(EVERY)).toBeUndefined();
    }
  });

  test('a network that goes away is no reason to retry; one that comes back is', () => {
    const machine = new Machine();
    expect(machine.after(EVERY, { addresses: [] })).toBeUndefined();
    expect(machine.after(EVERY)).toBeUndefined();
    expect(machine.after(EVERY, { addresses: ['10.0.0.1'] })).toBe('changed');
  });

  test('a jump of the wall clock, or a look that comes far too late, shows sleep', () => {
    const machine = new Machine();
    expect(machine.after(EVERY, { wallMs: 3_600_000 })).toBe('woke');
    expect(machine.after(3_600_000)).toBe('woke');
    expect(machine.after(EVERY)).toBeUndefined();
  });

  test('a small correction of the wall clock, or one backwards, is not sleep', () => {
    const machine = new Machine();
    expect(machine.after(EVERY, { wallMs: 10_000 })).toBeUndefined();
    expect(machine.after(EVERY, { wallMs: -3_600_000 })).toBeUndefined();
    expect(machine.after(EVERY)).toBeUndefined();
  });
});
