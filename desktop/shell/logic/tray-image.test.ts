import { expect, test } from '@jest/globals';
import { type Bitmap, trayStep, withProgress } from './tray-image.ts';

const blank: Bitmap = { width: 16, height: 16, pixels: new Uint8Array(16 * 16 * 4) };

/** Counts the filled pixels of the bottom row. */
function filled({ width, height, pixels }: Bitmap): number {
  const row = pixels.subarray((height - 1) * width * 4);
  let count = 0;
  for (let x = 0; x < width; x++) if (row[x * 4 + 1] === 0xbf) count++;
  return count;
}

test.each([
  [0, 0],
  [0.5, 8],
  [1, 16],
  [7, 16],
  [-1, 0],
])('a share of %d fills %d of 16 pixels', (share, pixels) => {
  expect(filled(withProgress(blank, share))).toBe(pixels);
});

test('the image above the bar stays unchanged, and so does the original', () => {
  const drawn = withProgress(blank, 0.5);
  expect(drawn.pixels.subarray(0, 13 * 16 * 4).every((byte) => byte === 0)).toBe(true);
  expect(blank.pixels.every((byte) => byte === 0)).toBe(true);
  expect(withProgress(blank, undefined)).toBe(blank);
});

test('the step changes only when the bar visibly changes', () => {
  expect(trayStep(undefined, 16)).toBe(-1);
  expect(trayStep(0.5, 16)).toBe(trayStep(0.51, 16));
  expect(trayStep(0.5, 16)).not.toBe(trayStep(0.6, 16));
});
