/**
 * Builds the app's window (desktop/shell/dist): main process and preload in one file each, pages,
 * icons. Both are CommonJS for Node 12, the oldest that the tests run them on, so that what is
 * tested is what is shipped.
 */

import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const shell = join(root, 'desktop', 'shell');
const icon = join(root, 'shared', 'style', 'icon.svg');
const require = createRequire(join(root, 'desktop', 'package.json'));
const dist = join(shell, 'dist');

/** Sizes of tray, windows and packages, in pixels. */
const ICON_SIZES = [16, 24, 32, 48, 64, 128, 256, 512, 1024];

/** Node before 14 has these promises under another name. */
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

/** @returns the folder that Electron is to run */
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
    logLevel: 'warning',
  });
  rmSync(join(dist, 'pages'), { recursive: true, force: true });
  cpSync(join(shell, 'pages'), join(dist, 'pages'), { recursive: true });
  cpSync(icon, join(dist, 'pages', 'icon.svg'));
  drawIcons();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const about = { name: 'millrace', productName: 'Millrace', version, main: 'main.cjs' };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  return dist;
}

/** Every size out of the one drawing, unless they are drawn already. */
function drawIcons() {
  const folder = join(dist, 'icons');
  const svg = readFileSync(icon);
  const stamp = createHash('sha256').update(svg).update(String(ICON_SIZES)).digest('hex');
  const stampFile = join(folder, 'drawn');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const { Resvg } = require('@resvg/resvg-js');
  mkdirSync(folder, { recursive: true });
  for (const size of ICON_SIZES) {
    const drawing = new Resvg(svg, { fitTo: { mode: 'width', value: size } });
    writeFileSync(join(folder, `${size}.png`), drawing.render().asPng());
  }
  writeFileSync(stampFile, stamp);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await buildShell();
  if (!process.argv.includes('--quiet')) process.stdout.write(`Built ${built}\n`);
}
