/**
 * Builds the browser extension: dist/extension/chromium and dist/extension/firefox, unpacked, and a
 * package of each. Both come from the same sources.
 */

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ICON_SIZES, manifest } from '../extension/src/manifest.mjs';
import { drawIcons } from './draw-icons.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const extension = join(root, 'extension');
const require = createRequire(join(extension, 'package.json'));

/** By the name of what is built: the source, and the browser that it is for alone. */
const ENTRIES = {
  background: { source: 'src/background.ts' },
  popup: { source: 'src/view/popup.tsx' },
  'popup-early': { source: 'src/view/popup-early.ts' },
  options: { source: 'src/view/options.tsx' },
  picker: { source: 'src/view/picker.tsx' },
  offscreen: { source: 'src/engine/link/offscreen.ts', only: 'chromium' },
  'engine-worker': { source: 'src/engine/link/worker.ts' },
  'skip-key': { source: 'src/content/skip-key.ts' },
};

/**
 * No modules: content scripts may not leave names behind in the page's world, and what is to run
 * early may not wait for the page.
 */
const CLASSIC = new Set(['skip-key', 'popup-early']);

/** Oldest browsers that the manifests let in: the sources are compiled for them. */
const TARGETS = { chromium: 'chrome120', firefox: 'firefox142' };

/** The same in every build, so that the same sources make the same packages. */
const ZIP_TIME = new Date(2020, 0, 1);

/**
 * The pages are written for React, and Preact stands in for it: the popup is to be there at once, and
 * reading React alone takes longer than all else that it does.
 */
const PREACT = {
  react: 'preact/compat',
  'react-dom': 'preact/compat',
  'react-dom/client': 'preact/compat/client',
  'react/jsx-runtime': 'preact/jsx-runtime',
};

/**
 * Preact can write markup into pages as it is given. Nothing here asks for that: it is taken out, so
 * that nobody has to take our word for it.
 */
const noRawMarkup = {
  name: 'no-raw-markup',
  setup(build) {
    build.onLoad({ filter: /preact[\\/]dist[\\/]preact\.m?js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = text.replaceAll(/(\w+)\.innerHTML=\w+\.__html/g, '$1.replaceChildren()');
      if (contents === text) throw new Error('Preact writes markup in another way by now');
      return { contents, loader: 'js' };
    });
  },
};

/**
 * @param options.dist folder for both, by default dist/extension
 * @returns the folders of the unpacked extensions
 */
export async function buildExtension({ dist = join(root, 'dist', 'extension') }) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const browser of Object.keys(TARGETS)) {
    const folder = join(dist, browser);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await bundle(browser, folder);
    copyPublic(browser, folder);
    copyIcons(dist, folder);
    const has = (path) => existsSync(join(folder, path));
    const text = JSON.stringify(manifest(browser, version, has), null, 2);
    writeFileSync(join(folder, 'manifest.json'), `${text}\n`);
    pack(folder, join(dist, `millrace-${browser}-${version}.zip`));
  }
  return { chromium: join(dist, 'chromium'), firefox: join(dist, 'firefox') };
}

async function bundle(browser, folder) {
  const { build } = require('esbuild');
  const entries = Object.entries(ENTRIES).filter(([, { source, only }]) => {
    return existsSync(join(extension, source)) && (only ?? browser) === browser;
  });
  for (const format of ['esm', 'iife']) {
    const some = entries.filter(([name]) => CLASSIC.has(name) === (format === 'iife'));
    if (some.length === 0) continue;
    await build({
      entryPoints: Object.fromEntries(some.map(([name, { source }]) => [name, source])),
      absWorkingDir: extension,
      outdir: folder,
      bundle: true,
      format,
      platform: 'browser',
      target: TARGETS[browser],
      jsx: 'automatic',
      alias: PREACT,
      plugins: [noRawMarkup],
      loader: { '.woff2': 'file', '.svg': 'file' },
      assetNames: 'assets/[name]-[hash]',
      legalComments: 'none',
      logLevel: 'warning',
    });
  }
}

/** Pages whose script is not built for this browser stay away with it. */
function copyPublic(browser, folder) {
  cpSync(join(extension, 'public'), folder, { recursive: true });
  preloadFont(folder);
  for (const [name, { only }] of Object.entries(ENTRIES)) {
    if (only !== undefined && only !== browser)
      rmSync(join(folder, `${name}.html`), { force: true });
  }
}

/** Has the font of pages fetched beside their scripts: from the style sheet it would come after them. */
function preloadFont(folder) {
  const font = readdirSync(join(folder, 'assets')).find((name) => /-latin-wght-/.test(name));
  if (font === undefined) throw new Error('the font has another name by now');
  const link = `<link rel="preload" href="assets/${font}" as="font" type="font/woff2" crossorigin />`;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.html'))) {
    const page = join(folder, name);
    const html = readFileSync(page, 'utf8');
    writeFileSync(page, html.replace(/(?=<link rel="stylesheet")/, `${link}\n    `));
  }
}

/** Drawn once for both. */
function copyIcons(dist, folder) {
  const drawn = join(dist, 'icons');
  drawIcons(drawn, ICON_SIZES);
  for (const size of ICON_SIZES) {
    cpSync(join(drawn, `${size}.png`), join(folder, 'icons', `${size}.png`));
  }
}

function pack(folder, file) {
  const { zipSync } = require('fflate');
  const files = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).split(sep).join('/');
    files[name] = [readFileSync(path), { mtime: ZIP_TIME }];
  }
  const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, zipSync(sorted, { level: 9 }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { dist: { type: 'string' } } });
  const folders = await buildExtension(values);
  for (const folder of Object.values(folders)) process.stdout.write(`Built ${folder}\n`);
}
