/**
 * Builds the app's window (desktop/shell/dist): main process and preload in one file each, pages,
 * icons. Both files are CommonJS for Node 12, the oldest Node that the tests run them on, so that
 * the tests run the code that is shipped.
 */

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawIcons, ICON } from './draw-icons.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const shell = join(root, 'desktop', 'shell');
const require = createRequire(join(root, 'desktop', 'package.json'));
const dist = join(shell, 'dist');

/** Sizes of the icon for the tray, windows and packages, in pixels. */
const ICON_SIZES = [16, 24, 32, 48, 64, 128, 256, 512, 1024];

/** Resolves `node:fs/promises` to `fs.promises`, its name in Node before 14. */
const oldNode = {
  name: 'old-node',
  setup(build) {
    build.onResolve({ filter: /^node:fs\/promises$/ }, () => ({
      path: 'fs-promises',
      namespace: 'old-node',
    }));
    build.onLoad({ filter: /.*/, namespace: 'old-node' }, () => ({
      contents: "module.exports = require('fs').promises",
      resolveDir: shell,
    }));
  },
};

/** Builds the app's window. @returns the folder for Electron to run */
export async function buildShell() {
  mkdirSync(dist, { recursive: true });
  const { build } = require('esbuild');
  await build({
    entryPoints: { main: join(shell, 'main.ts'), preload: join(shell, 'preload.ts') },
    outdir: dist,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node12',
    // Optional parts of ws that are not installed.
    external: ['electron', 'bufferutil', 'utf-8-validate'],
    define: { 'import.meta.dirname': '__dirname' },
    plugins: [oldNode],
    legalComments: 'none',
    // Names are kept, for the stacks of errors.
    minifyWhitespace: true,
    logLevel: 'warning',
  });
  rmSync(join(dist, 'pages'), { recursive: true, force: true });
  cpSync(join(shell, 'pages'), join(dist, 'pages'), { recursive: true });
  cpSync(ICON, join(dist, 'pages', 'icon.svg'));
  drawIcons(join(dist, 'icons'), ICON_SIZES);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const about = { name: 'millrace', productName: 'Millrace', version, main: 'main.cjs' };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  return dist;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await buildShell();
  if (!process.argv.includes('--quiet')) process.stdout.write(`Built ${built}\n`);
}
