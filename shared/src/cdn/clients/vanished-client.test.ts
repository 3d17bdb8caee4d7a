import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  MIN_SILENCE_MS,
  type TcpState,
  UNANSWERED_PROBES,
  VanishedClientDetector,
} from './vanished-client.ts';

const FINE: TcpState = {
  retransmits: 0,
  probes: 0,
  unacked: 10,
  unsentBytes: 0,
  lastSentMs: 1,
  lastAckMs: 1,
};

/** Feeds the detector with these states, `everyMs` apart, and returns its verdicts. */
function judge(states: readonly Partial<TcpState>[], everyMs = 250, outstanding = true) {
  const detector = new VanishedClientDetector();
  return states.map((state, i) =>
    detector.observe({ ...FINE, ...state }, outstanding, i * everyMs),
  );
}

describe('a client that acknowledges', () => {
  test('has not vanished', () => {
    expect(judge([{}, {}, { unacked: 0 }])).toEqual([false, false, false]);
  });

  test('has not vanished however often segments are lost, if it acknowledges others', () => {
    const states = [1, 2, 3, 4].map((retransmits) => ({ retransmits, lastAckMs: 5 }));
    expect(judge(states)).toEqual([false, false, false, false]);
  });

  test('has not vanished behind a closed window, however long that lasts', () => {
    const states = [0, 1, 0, 1, 2, 0].map((probes) => ({ probes, unacked: 0, lastAckMs: 30_000 }));
    expect(judge(states, 60_000)).toEqual(states.map(() => false));
  });

  test('has not vanished if it answers every retransmission without taking it', () => {
    const states = [1, 2, 3, 4, 5, 6].map((retransmits) => ({
      retransmits,
      lastSentMs: 700,
      lastAckMs: 690,
    }));
    expect(judge(states, 1000)).toEqual(states.map(() => false));
  });
});

describe('a client without any acknowledgement', () => {
  test('has vanished after a timeout and the timeout of the retry', () => {
    expect(
      judge([
        { lastSentMs: 20, lastAckMs: 20 },
        { retransmits: 1, lastSentMs: 60, lastAckMs: 270 },
        { retransmits: 1, lastSentMs: 310, lastAckMs: 520 },
        { retransmits: 2, lastSentMs: 150, lastAckMs: 770 },
      ]),
    ).toEqual([false, false, false, true]);
  });

  test('has vanished even if its last acknowledgement was seen after the first timeout', () => {
    expect(
      judge([
        { lastSentMs: 5, lastAckMs: 5 },
        { retransmits: 1, lastSentMs: 30, lastAckMs: 240 },
        { retransmits: 1, lastSentMs: 280, lastAckMs: 490 },
        { retransmits: 2, lastSentMs: 120, lastAckMs: 740 },
      ]),
    ).toEqual([false, false, false, true]);
  });

  test('has not vanished in less than the time that two timeouts take', () => {
    const lastAckMs = MIN_SILENCE_MS - 1;
    expect(judge([FINE, { retransmits: 2, lastAckMs }])).toEqual([false, false]);
    expect(judge([FINE, { retransmits: 2, lastAckMs: MIN_SILENCE_MS }], 601)).toEqual([
      false,
      true,
    ]);
  });

  test('has vanished behind a closed window after three probes', () => {
    const states = [1, 2, UNANSWERED_PROBES].map((probes, i) => ({
      probes,
      unacked: 0,
      lastAckMs: 500 * (i + 1),
    }));
    expect(judge(states, 500)).toEqual([false, false, true]);
  });
});

describe('a client that answers after timeouts', () => {
  const lost = { retransmits: 2, lastSentMs: 100, lastAckMs: 900 };

  test('is noticed, with the number of timeouts before', () => {
    const detector = new VanishedClientDetector();
    const one = { retransmits: 1, lastSentMs: 100, lastAckMs: 400 };
    const seen = [FINE, one, lost, FINE, FINE, one, { ...FINE, retransmits: 1 }].map((state, i) => {
      detector.observe({ ...FINE, ...state }, true, 500 * i, 4);
      return detector.answeredLate;
    });
    expect(seen).toEqual([0, 0, 0, 2, 0, 0, 1]);
  });

  test('has as many timeouts as the caller grants', () => {
    const detector = new VanishedClientDetector();
    const silence = [0, 1, 2, 3, 4].map((retransmits) => ({
      ...{ ...FINE, retransmits, unacked: 4, lastSentMs: 100 },
      lastAckMs: 10 + 200 * (2 ** retransmits - 1),
    }));
    const said = silence.map((state) => detector.observe(state, true, state.lastAckMs, 4));
    expect(said).toEqual([false, false, false, false, true]);
  });
});

describe('the detector concludes nothing', () => {
  const gone = { retransmits: 9, probes: 9, lastAckMs: 60_000 };

  test('from a state that cannot be read', () => {
    const detector = new VanishedClientDetector();
    expect(detector.observe(undefined, true, 0)).toBe(false);
    expect(detector.observe(undefined, true, 1e9)).toBe(false);
  });

  test('while nothing is outstanding', () => {
    expect(judge([FINE, gone, gone], 30_000, false)).toEqual([false, false, false]);
  });

  test('from timeouts if everything has been acknowledged', () => {
    expect(judge([FINE, { ...gone, probes: 0, unacked: 0 }], 30_000)).toEqual([false, false]);
  });
});

/**
 * Models the kernel's side of a connection with one segment outstanding: a timeout whenever the
 * retry interval is over, which doubles each time. An answer comes `delayMs` later, if at all, and
 * does not acknowledge the segment.
 */
function statesOf(o: { rtoMs: number; delayMs: number; silentFrom: number; closed: boolean }) {
  // 0, then 1, 3, 7 ... times the first interval.
  const sent = Array.from({ length: 10 }, (_, i) => (2 ** i - 1) * o.rtoMs);
  const acks = sent.map((t) => t + o.delayMs).filter((t) => t < o.silentFrom);
  return (now: number): TcpState => {
    const lastSent = sent.findLast((t) => t <= now) ?? 0;
    const lastAck = acks.findLast((t) => t <= now) ?? 0;
    const timeouts = sent.filter((t) => t <= now).length - 1;
    const since = sent.filter((t) => t <= now && t > lastAck).length;
    return {
      retransmits: o.closed ? 0 : timeouts,
      probes: o.closed ? since : 0,
      unacked: o.closed ? 0 : 1,
      unsentBytes: o.closed ? 1 : 0,
      lastSentMs: now - lastSent,
      lastAckMs: now - lastAck,
    };
  };
}

const connections = {
  rtoMs: fc.integer({ min: 200, max: 3000 }),
  delayMs: fc.integer({ min: 0, max: 190 }),
  everyMs: fc.integer({ min: 50, max: 1000 }),
  closed: fc.boolean(),
};

test('a client that answers every timeout or probe never counts as vanished', () => {
  fc.assert(
    fc.property(fc.record(connections), ({ everyMs, ...o }) => {
      const state = statesOf({ ...o, silentFrom: Number.POSITIVE_INFINITY });
      const detector = new VanishedClientDetector();
      for (let now = 0; now < 60_000; now += everyMs) {
        expect([now, detector.observe(state(now), true, now)]).toEqual([now, false]);
      }
    }),
  );
});

test('a client that falls silent is found after the silence, within three timeouts', () => {
  fc.assert(
    fc.property(fc.record(connections), ({ everyMs, ...o }) => {
      const state = statesOf({ ...o, silentFrom: 1 });
      const detector = new VanishedClientDetector();
      let now = 0;
      while (!detector.observe(state(now), true, now)) now += everyMs;
      expect(now).toBeGreaterThanOrEqual(MIN_SILENCE_MS);
      // 1 + 2 timeouts, and 4 more for the third probe, or if the first was missed.
      expect(now).toBeLessThanOrEqual(7 * o.rtoMs + everyMs);
    }),
  );
});
