import { describe, expect, test } from '@jest/globals';
import { SinceShown } from './since-shown.ts';

const at = (start: number) => ({ start, end: start + 10 });

describe('bytes since a source was last shown to have the version', () => {
  test('are those that came after the last good answer was asked for', () => {
    const bytes = new SinceShown();
    bytes.asked();
    bytes.add(at(0));
    const request = bytes.asked();
    // They came before the answer, but perhaps after the server had made its header.
    bytes.add(at(20));
    bytes.shown(request);
    bytes.add(at(40));
    expect(bytes.take().ranges).toEqual([at(20), at(40)]);
    expect(bytes.take().ranges).toEqual([]);
  });

  test('stay doubtful while an older request alone is answered', () => {
    const bytes = new SinceShown();
    const first = bytes.asked();
    bytes.add(at(0));
    const second = bytes.asked();
    bytes.shown(first);
    expect(bytes.take().ranges).toEqual([at(0)]);
    bytes.add(at(20));
    bytes.shown(second);
    expect(bytes.take().ranges).toEqual([at(20)]);
  });

  test('are all kept when many requests get no answer', () => {
    const bytes = new SinceShown();
    for (let i = 0; i < 1000; i++) {
      bytes.add(at(20 * i));
      bytes.asked();
    }
    expect(bytes.take().bytes).toBe(10_000);
  });
});
