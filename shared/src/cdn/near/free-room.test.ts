import { expect, test } from '@jest/globals';
import { freeRoom } from './free-room.ts';

test.each([
  ['nothing is limited', [{ used: 5, limit: 0 }], 1],
  ['one supply is half used', [{ used: 5, limit: 10 }], 0.5],
  [
    'one of two is nearly used up',
    [
      { used: 1, limit: 10 },
      { used: 9, limit: 10 },
    ],
    0.1,
  ],
  ['more is used than the limit', [{ used: 12, limit: 10 }], 0],
])('the room where %s', (_what, supplies, room) => {
  expect(freeRoom(supplies)).toBeCloseTo(room);
});
