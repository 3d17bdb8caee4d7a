/**
 * Builds the interface into desktop/ui/dist, unless the build there was made from the same inputs.
 * Run by itself, or by scripts/run.mjs before programs that serve the interface.
 */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawIcons } from './draw-icons.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ui = join(root, 'desktop', 'ui');
/** Sizes of the icons that manifest.webmanifest names, in pixels. */
const ICON_SIZES = [192, 512];
const stampFile = join(ui, 'dist', '.stamp');

/** Returns the files that the build depends on; tests and pictures are not among them. */
function inputs() {
  const files = [
    'desktop/package.json',
    'pnpm-lock.yaml',
    'scripts/build-ui.mjs',
    'scripts/draw-icons.mjs',
  ];
  for (const folder of [
    'desktop/ui/public',
    'desktop/ui/src',
    'shared/src/base',
    'shared/src/bridge',
    'shared/src/text',
    'shared/style',
    'shared/ui',
  ]) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.includes('.test.')) continue;
      files.push(relative(root, join(entry.parentPath, entry.name)));
    }
  }
  files.push('desktop/ui/index.html', 'desktop/ui/vite.config.mjs');
  return files.sort();
}

function stamp() {
  const hash = createHash('sha256');
  for (const file of inputs()) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/** Builds the interface if its inputs have changed. @returns true if it was built */
export async function buildUi() {
  const current = stamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === current) return false;
  console.error('Building the interface (once, until it changes) ...');
  const started = Date.now();
  const { build } = await import(join(root, 'desktop/node_modules/vite/dist/node/index.js'));
  const verbose = process.argv.includes('--verbose');
  await build({
    configFile: join(ui, 'vite.config.mjs'),
    mode: 'production',
    logLevel: verbose ? 'info' : 'warn',
  });
  // For phones that put the page on their home screen.
  drawIcons(join(ui, 'dist', 'icons'), ICON_SIZES);
  writeFileSync(stampFile, current);
  console.error(`Building the interface: done in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildUi();
