import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { kilometres } from './places.ts';

const PLACE = fc.record({
  latitude: fc.double({ min: -90, max: 90, noNaN: true }),
  longitude: fc.double({ min: -180, max: 180, noNaN: true }),
});

test.each([
  ['Berlin and Paris', [52.52, 13.405], [48.857, 2.352], 878],
  ['London and New York', [51.507, -0.128], [40.713, -74.006], 5570],
  ['two sides of the date line', [0, 179.5], [0, -179.5], 111],
  ['the poles', [90, 0], [-90, 120], 20_015],
] as const)('the distance of %s', (_names, [lat, lon], [lat2, lon2], km) => {
  const found = kilometres({ latitude: lat, longitude: lon }, { latitude: lat2, longitude: lon2 });
  expect(Math.abs(found - km)).toBeLessThan(km * 0.005);
});

test('distances are the same both ways, and none is longer than half the way round', () => {
  fc.assert(
    fc.property(PLACE, PLACE, (a, b) => {
      const km = kilometres(a, b);
      expect(km).toBeGreaterThanOrEqual(0);
      expect(km).toBeLessThan(20_016);
      expect(Math.abs(km - kilometres(b, a))).toBeLessThan(0.001);
      expect(kilometres(a, a)).toBe(0);
    }),
  );
});
