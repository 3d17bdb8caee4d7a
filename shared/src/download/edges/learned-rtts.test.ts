import { describe, expect, test } from '@jest/globals';
import { LearnedRtts } from './learned-rtts.ts';

const EDGE = 'https://edge.example/';
const MINUTE = 60_000;

describe('LearnedRtts', () => {
  test('a shorter round trip counts at once, a longer one for a part', () => {
    const rtts = new LearnedRtts();
    rtts.onMeasured(EDGE, 40, 0);
    rtts.onMeasured(EDGE, 20, 1);
    expect(rtts.rtt(EDGE, 1)).toBe(20);
    rtts.onMeasured(EDGE, 60, 2);
    expect(rtts.rtt(EDGE, 2)).toBe(30);
  });

  test('an edge is known by its address, whatever stands behind it', () => {
    const rtts = new LearnedRtts();
    rtts.onMeasured('https://edge.example/a', 40, 0);
    expect(rtts.rtt('https://edge.example', 0)).toBe(40);
    expect(rtts.rtt('https://edge.example:8443', 0)).toBeUndefined();
  });

  test('a round trip is measured again after ten minutes, and forgotten after an hour', () => {
    const rtts = new LearnedRtts();
    rtts.onMeasured(EDGE, 40, 0);
    expect(rtts.isFresh(EDGE, 10 * MINUTE)).toBe(true);
    expect(rtts.isFresh(EDGE, 10 * MINUTE + 1)).toBe(false);
    expect(rtts.rtt(EDGE, 60 * MINUTE)).toBe(40);
    expect(rtts.rtt(EDGE, 60 * MINUTE + 1)).toBeUndefined();
    // The clock was set back.
    expect(rtts.rtt(EDGE, -1)).toBeUndefined();
  });

  test('the edge that was measured longest ago makes room', () => {
    const rtts = new LearnedRtts();
    for (let i = 0; i < 1000; i++) rtts.onMeasured(`http://e${i}.example`, i, 0);
    rtts.onMeasured('http://e0.example', 0, 0);
    rtts.onMeasured(EDGE, 1, 0);
    expect(rtts.rtt('http://e0.example', 0)).toBe(0);
    expect(rtts.rtt('http://e1.example', 0)).toBeUndefined();
  });
});
