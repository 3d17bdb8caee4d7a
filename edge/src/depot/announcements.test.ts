import { describe, expect, test } from '@jest/globals';
import { Announcements } from './announcements.ts';

/** Lets everything settle that waits for nothing outside. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Announcements', () => {
  test('are made sixteen at a time, each of them once', async () => {
    const under: (() => void)[] = [];
    const made: string[] = [];
    const announcements = new Announcements((id) => {
      made.push(id);
      return new Promise((resolve) => under.push(resolve));
    });
    const ids = Array.from({ length: 50 }, (_, i) => `${i}`);
    const all = Promise.all(ids.map((id) => announcements.announce(id)));
    for (const count of [16, 16, 16, 2]) {
      await settled();
      expect(under).toHaveLength(count);
      for (const end of under.splice(0)) end();
    }
    await all;
    expect(made).toEqual(ids);
  });

  test('are waited for no longer than a while, and made nevertheless', async () => {
    let answer = () => {};
    const made: string[] = [];
    const announcements = new Announcements(async (id) => {
      made.push(id);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
    }, 0);
    // The first sixteen hang.
    const ids = Array.from({ length: 17 }, (_, i) => `${i}`);
    await Promise.all(ids.map((id) => announcements.announce(id)));
    expect(made).toHaveLength(16);
    answer();
    await settled();
    expect(made).toEqual(ids);
  });
});
