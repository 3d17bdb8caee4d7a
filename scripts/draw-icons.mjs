/** Draws the icon in every requested size from one SVG. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(join(root, 'desktop', 'package.json'));

/** Path of the icon's SVG. */
export const ICON = join(root, 'shared', 'style', 'icon.svg');

/**
 * Writes SIZE.png for every size, unless they are drawn already.
 *
 * @param folder folder to write to; its file `drawn` records which drawing and sizes it holds
 * @param sizes edge lengths in pixels
 */
export function drawIcons(folder, sizes) {
  const svg = readFileSync(ICON);
  const stamp = createHash('sha256').update(svg).update(String(sizes)).digest('hex');
  const stampFile = join(folder, 'drawn');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const { Resvg } = require('@resvg/resvg-js');
  mkdirSync(folder, { recursive: true });
  for (const size of sizes) {
    const drawing = new Resvg(svg, { fitTo: { mode: 'width', value: size } });
    writeFileSync(join(folder, `${size}.png`), drawing.render().asPng());
  }
  writeFileSync(stampFile, stamp);
}
