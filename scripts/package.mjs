/**
 * Makes the packages of the app: assembles its parts in dist/stage, and has electron-builder pack
 * them into dist/packages. Names the packages that this machine cannot make, with the reason.
 *
 *   --stage    only assemble the parts
 *   --unpacked make the app as a folder only, no packages
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagingOptions, TARGETS } from '../desktop/shell/packaging.mjs';
import { buildShell } from './build-shell.mjs';
import { buildUi } from './build-ui.mjs';

const BUILDER = 'electron-builder@26.17.0';
const TIMEOUT_MS = 15 * 60_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(join(root, 'desktop', 'package.json'));
const stage = join(root, 'dist', 'stage');
const output = join(root, 'dist', 'packages');

async function putTogether() {
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  await buildUi();
  copy(await buildShell(), join(stage, 'app'));
  copy(join(root, 'desktop', 'ui', 'dist'), join(stage, 'millrace', 'ui', 'dist'));
  await bundleDaemon();
  await bundleHost();
  nameIcons();
  console.log(`The app is put together in ${stage}`);
}

/** Copies a built folder without its stamps. */
function copy(from, to) {
  const filter = (path) => !/[/\\](?:\.stamp|drawn)$/.test(path);
  cpSync(from, to, { recursive: true, filter });
}

function bundleDaemon() {
  const engine = join(root, 'desktop', 'engine');
  return bundle(join('engine', 'daemon'), {
    main: join(engine, 'daemon', 'main.ts'),
    // Each thread needs a file of its own.
    'hash-worker': join(engine, 'hash', 'hash-worker.ts'),
  });
}

/** Bundles the native host, which browsers start. */
function bundleHost() {
  return bundle('native-host', { main: join(root, 'desktop', 'native-host', 'main.ts') });
}

/** Bundles to plain JavaScript: Node does not run TypeScript inside node_modules. */
async function bundle(place, entryPoints) {
  const folder = join(stage, 'millrace', place);
  const { build } = require('esbuild');
  await build({
    entryPoints,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    external: ['bufferutil', 'utf-8-validate'],
    // Native code, for the system of this build: copied beside the bundle.
    loader: { '.node': 'copy' },
    assetNames: '[name]',
    // CommonJS libraries need `require`.
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
    plugins: [besideEachOther],
    legalComments: 'none',
    logLevel: 'warning',
  });
  const left = /new URL\("[^"]*\.ts"/.exec(readFileSync(join(folder, 'main.mjs'), 'utf8'))?.[0];
  if (left !== undefined) throw new Error(`the bundle names a source: ${left}`);
}

/** Replaces the names of programs' sources with the names of their bundles, in the same places. */
const besideEachOther = {
  name: 'programs-beside-each-other',
  setup({ onLoad }) {
    onLoad({ filter: /(?:hash-thread|native-host.daemon-program)\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(/new URL\('(\.[^']*)\.ts'/, "new URL('$1.mjs'");
      if (contents === source) throw new Error(`${path} names no program`);
      return { contents, loader: 'ts' };
    });
  },
};

/** Names the icons by size, as the icon theme specification requires. */
function nameIcons() {
  const folder = join(stage, 'icons');
  mkdirSync(folder, { recursive: true });
  for (const size of [16, 24, 32, 48, 64, 128, 256, 512]) {
    cpSync(join(stage, 'app', 'icons', `${size}.png`), join(folder, `${size}x${size}.png`));
  }
}

function makePackages(targets) {
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  for (const { platform, target, on } of targets) {
    const name = target === 'dir' ? `${platform}, as a folder` : `${platform}, ${target}`;
    const reason = on.includes(process.platform)
      ? runBuilder(platform, target)
      : `it can be made on ${on.join(', ')} only`;
    console.log(reason === undefined ? `made:    ${name}` : `skipped: ${name}: ${reason}`);
  }
  console.log(`The packages are in ${output}`);
}

/** Makes one package. @returns the reason if it could not be made, otherwise undefined */
function runBuilder(platform, target) {
  const config = join(output, `${platform}-${target}.json`);
  const options = packagingOptions(stage, output, platform === builderPlatform());
  writeFileSync(config, JSON.stringify(options, null, 2));
  const flags = [`--${platform}`, target, '--projectDir', join(stage, 'app'), '--config', config];
  const { status, stdout, stderr, error } = spawnSync(
    'npx',
    ['--yes', BUILDER, ...flags, '--publish', 'never'],
    {
      cwd: root,
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      shell: process.platform === 'win32',
    },
  );
  if (status === 0) return undefined;
  const log = `${stdout}\n${stderr}`;
  const file = join(output, `${platform}-${target}.log`);
  writeFileSync(file, log);
  return `${error?.message ?? whyOf(log)} (see ${file})`;
}

/** Finds the line of electron-builder's log that gives the reason of a failure. */
function whyOf(log) {
  const host = /getaddrinfo \w+ (\S+)/.exec(log)?.[1];
  if (host !== undefined) return `it takes a download from ${host}, which cannot be reached`;
  const line = log.split('\n').find((text) => /⨯|Error:/.test(text));
  return (line ?? 'electron-builder failed').replace(/^\s*⨯\s*/, '').slice(0, 160);
}

function builderPlatform() {
  return { win32: 'win', darwin: 'mac' }[process.platform] ?? 'linux';
}

await putTogether();
const flags = process.argv.slice(2);
const folder = { platform: builderPlatform(), target: 'dir', on: [process.platform] };
if (!flags.includes('--stage')) {
  makePackages(flags.includes('--unpacked') ? [folder] : [folder, ...TARGETS]);
}
