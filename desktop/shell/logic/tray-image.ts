/** Draws a bar of progress on the tray's image, pixel by pixel. */

/** A bitmap as Electron has it: four bytes a pixel (blue, green, red, alpha), rows from the top. */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

type Pixel = readonly [blue: number, green: number, red: number, alpha: number];

const TRACK: Pixel = [0x40, 0x40, 0x40, 0xff];
/** Accent colour of the icon, lighter: it has to show on dark panels. */
const FILLED: Pixel = [0xd2, 0xbf, 0x3f, 0xff];

/**
 * Draws a bar along the bottom.
 *
 * @param share 0 to 1; undefined: the picture is returned as it is
 */
export function withProgress(picture: Bitmap, share: number | undefined): Bitmap {
  if (share === undefined) return picture;
  const { width, height } = picture;
  const pixels = Uint8Array.from(picture.pixels);
  const barHeight = Math.max(2, Math.round(height / 6));
  const filled = Math.round(width * Math.min(Math.max(share, 0), 1));
  for (let y = height - barHeight; y < height; y++) {
    for (let x = 0; x < width; x++) pixels.set(x < filled ? FILLED : TRACK, (y * width + x) * 4);
  }
  return { width, height, pixels };
}

/** Returns the step of a bar as wide as the picture; within a step no redrawing is needed. */
export function trayStep(share: number | undefined, width: number): number {
  return share === undefined ? -1 : Math.round(share * width);
}
