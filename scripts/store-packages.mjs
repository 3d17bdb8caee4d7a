/**
 * Puts together what the stores of browsers ask for: the packages, icons and pictures in their sizes,
 * and the texts of extension/store, one file for each field of a form, in each language.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawIcons, ICON } from './draw-icons.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const extension = join(root, 'extension');
const require = createRequire(join(root, 'desktop', 'package.json'));

/** Sizes of icons in pixels: Firefox Add-ons 32, 64 and 128, Chrome 128, Edge 300, Opera 64. */
const ICON_SIZES = [32, 64, 128, 300];
/** Pictures of stores: the board's size in pixels, and what stands on it. */
const SCREENSHOTS = ['popup', 'popup-dark', 'options', 'options-dark', 'picker'];
const SCREENSHOT = [1280, 800];
/** Tile beside search results (Chrome, Edge), and the wide one of featured extensions. */
const TILES = { 'tile-440x280': [440, 280], 'tile-1400x560': [1400, 560] };
const BACKGROUND = '#0b7285';

/**
 * Writes a folder with everything to upload and to paste.
 *
 * @param folder folder to write, which is emptied first
 * @param packages bytes of each package by the name of its file
 */
export function writeStore(folder, packages) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'pictures'), { recursive: true });
  for (const [name, bytes] of Object.entries(packages)) writeFileSync(join(folder, name), bytes);
  drawIcons(join(folder, 'icons'), ICON_SIZES);
  rmSync(join(folder, 'icons', 'drawn'));
  for (const [name, size] of Object.entries(TILES)) {
    const icon = Math.round(Math.min(...size) * 0.55);
    writePicture(folder, name, size, readFileSync(ICON), 'image/svg+xml', [icon, icon]);
  }
  for (const name of SCREENSHOTS) {
    const png = readFileSync(join(extension, 'screenshots', `${name}.png`));
    const own = [png.readUInt32BE(16), png.readUInt32BE(20)];
    writePicture(folder, `screenshot-${name}`, SCREENSHOT, png, 'image/png', own);
  }
  for (const file of readdirSync(join(extension, 'store')).filter((name) =>
    /[.]json$/.test(name),
  )) {
    const texts = JSON.parse(readFileSync(join(extension, 'store', file), 'utf8'));
    writeTexts(join(folder, file.replace('.json', '')), texts);
  }
}

/** Draws a picture in the middle of a board. */
function writePicture(folder, name, [width, height], bytes, type, [ownWidth, ownHeight]) {
  const scale = Math.min(1, width / ownWidth, height / ownHeight);
  const [w, h] = [ownWidth * scale, ownHeight * scale];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
    width="${width}" height="${height}">
    <rect width="${width}" height="${height}" fill="${BACKGROUND}"/>
    <image x="${(width - w) / 2}" y="${(height - h) / 2}" width="${w}" height="${h}"
      xlink:href="data:${type};base64,${bytes.toString('base64')}"/></svg>`;
  const { Resvg } = require('@resvg/resvg-js');
  writeFileSync(join(folder, 'pictures', `${name}.png`), new Resvg(svg).render().asPng());
}

function writeTexts(folder, texts) {
  const { name, summary, description, terms, singlePurpose, privacy, permissions, remoteCode } =
    texts;
  const reasons = Object.entries(permissions).map(([of, why]) => `${of}\n${why}`);
  const files = {
    name,
    summary,
    description: description.join('\n\n'),
    'search-terms': terms.join('\n'),
    'single-purpose': singlePurpose,
    privacy: privacy.join('\n\n'),
    permissions: reasons.join('\n\n'),
    'remote-code': remoteCode,
  };
  mkdirSync(folder, { recursive: true });
  for (const [field, text] of Object.entries(files)) {
    writeFileSync(join(folder, `${field}.txt`), `${text}\n`);
  }
}
