/**
 * Builds the browser extension from one set of sources: unpacked into dist/extension/chromium and
 * dist/extension/firefox, and as a package for each browser.
 *
 *   --dist FOLDER   write there
 *   --store         also write the folder `store`: what the stores of browsers ask for
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
import { writeStore } from './store-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const extension = join(root, 'extension');
const require = createRequire(join(extension, 'package.json'));

/** Built scripts by name: the source, and `only`, the one browser that the script is built for. */
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
 * Scripts that are not built as modules: content scripts must not leave names in the page's world,
 * and early scripts must not wait for the page.
 */
const CLASSIC = new Set(['skip-key', 'popup-early']);

/** Oldest browsers that the manifests allow: the sources are compiled for them. */
const TARGETS = { chromium: 'chrome120', firefox: 'firefox142' };

/** Time of every file in a package: fixed, so that the same sources make the same packages. */
const ZIP_TIME = new Date(2020, 0, 1);

/**
 * Replaces React, which the pages are written for, with Preact: the popup must open at once, and
 * parsing React alone takes longer than everything else that the popup does.
 */
const PREACT = {
  react: 'preact/compat',
  'react-dom': 'preact/compat',
  'react-dom/client': 'preact/compat/client',
  'react/jsx-runtime': 'preact/jsx-runtime',
};

/**
 * Removes the code in Preact that writes raw markup into pages. Our pages never use it; once it is
 * removed, reviewers need not check that.
 */
const noRawMarkup = {
  name: 'no-raw-markup',
  setup(build) {
    build.onLoad({ filter: /preact[\\/]dist[\\/]preact\.m?js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = text.replaceAll(/(\w+)\.innerHTML=\w+\.__html/g, '$1.replaceChildren()');
      if (contents === text)
        throw new Error('Preact has changed how it writes markup: adapt this plugin');
      return { contents, loader: 'js' };
    });
  },
};

/**
 * Builds the extension for every browser.
 *
 * @param options.dist folder of all builds, by default dist/extension
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
  const { build, transform } = require('esbuild');
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
      // Modules are always read as UTF-8: escapes would make texts longer, and hard to review.
      charset: 'utf8',
      // Omits the notes by which a bundler drops unused elements: no element is unused.
      jsxSideEffects: true,
      alias: PREACT,
      define: { 'process.env.NODE_ENV': '"production"' },
      plugins: [noRawMarkup],
      loader: { '.woff2': 'file', '.svg': 'file' },
      assetNames: 'assets/[name]-[hash]',
      legalComments: 'none',
      logLevel: 'warning',
    });
  }
  // Scripts stay as reviewers of stores want to read them; styles only delay the popup's paint.
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.css'))) {
    const path = join(folder, name);
    const options = { loader: 'css', minifyWhitespace: true, charset: 'utf8' };
    writeFileSync(path, (await transform(readFileSync(path, 'utf8'), options)).code);
  }
}

/** Copies the static files, except pages whose script is not built for this browser. */
function copyPublic(browser, folder) {
  cpSync(join(extension, 'public'), folder, { recursive: true });
  preloadFont(folder);
  for (const [name, { only }] of Object.entries(ENTRIES)) {
    if (only !== undefined && only !== browser)
      rmSync(join(folder, `${name}.html`), { force: true });
  }
}

/** Preloads the pages' font beside their scripts: the style sheet would load it only after them. */
function preloadFont(folder) {
  const font = readdirSync(join(folder, 'assets')).find((name) => /-latin-wght-/.test(name));
  if (font === undefined)
    throw new Error('there is no font of the expected name: adapt this function');
  const link = `<link rel="preload" href="assets/${font}" as="font" type="font/woff2" crossorigin />`;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.html'))) {
    const page = join(folder, name);
    const html = readFileSync(page, 'utf8');
    writeFileSync(page, html.replace(/(?=<link rel="stylesheet")/, `${link}\n    `));
  }
}

/** Copies the icons, which are drawn once for all browsers, into an extension's folder. */
function copyIcons(dist, folder) {
  const drawn = join(dist, 'icons');
  drawIcons(drawn, ICON_SIZES);
  for (const size of ICON_SIZES) {
    cpSync(join(drawn, `${size}.png`), join(folder, 'icons', `${size}.png`));
  }
}

/**
 * Makes what stores ask for. Their packages for Chromium have no key: each store has one of its own.
 *
 * @param options.dist folder of all builds, by default dist/extension
 */
export async function buildStore({ dist = join(root, 'dist', 'extension') }) {
  const { chromium, firefox } = await buildExtension({ dist });
  const { key: _, ...listed } = JSON.parse(readFileSync(join(chromium, 'manifest.json'), 'utf8'));
  const text = `${JSON.stringify(listed, null, 2)}\n`;
  writeStore(join(dist, 'store'), {
    [`millrace-chromium-${listed.version}.zip`]: zipOf(chromium, { 'manifest.json': text }),
    [`millrace-firefox-${listed.version}.zip`]: zipOf(firefox),
  });
}

function pack(folder, file) {
  writeFileSync(file, zipOf(folder));
}

/** Packs a folder. @param instead texts of files that differ in the package */
function zipOf(folder, instead = {}) {
  const { zipSync } = require('fflate');
  const files = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).split(sep).join('/');
    const bytes = instead[name] === undefined ? readFileSync(path) : Buffer.from(instead[name]);
    files[name] = [bytes, { mtime: ZIP_TIME }];
  }
  const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)));
  return zipSync(sorted, { level: 9 });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = { dist: { type: 'string' }, store: { type: 'boolean' } };
  const { store, ...values } = parseArgs({ options }).values;
  if (store) await buildStore(values);
  const folders = await buildExtension(values);
  for (const folder of Object.values(folders)) process.stdout.write(`Built ${folder}\n`);
}
