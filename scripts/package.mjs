/**
 * Makes the packages of the app: assembles its parts in dist/stage, and has electron-builder pack
 * them into dist/packages. Names the packages that this machine cannot make, with the reason.
 *
 *   --stage    only assemble the parts
 *   --unpacked make the app as a folder only, no packages
 *   npm        only make the npm package of the command line, in dist/npm
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagingOptions, TARGETS } from '../desktop/shell/packaging.mjs';
import { buildShell } from './build-shell.mjs';
import { buildUi } from './build-ui.mjs';
import { bundle, root } from './bundle.mjs';
import { copyBuilt, packageNpm } from './package-npm.mjs';

const BUILDER = 'electron-builder@26.17.0';
const TIMEOUT_MS = 15 * 60_000;

const stage = join(root, 'dist', 'stage');
const output = join(root, 'dist', 'packages');

async function putTogether() {
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  await buildUi();
  copyBuilt(await buildShell(), join(stage, 'app'));
  copyBuilt(join(root, 'desktop', 'ui', 'dist'), join(stage, 'millrace', 'ui', 'dist'));
  await bundleDaemon();
  await bundleHost();
  nameIcons();
  console.log(`The app is put together in ${stage}`);
}

function bundleDaemon() {
  return bundle(
    join(stage, 'millrace', 'engine', 'daemon'),
    {
      main: 'desktop/engine/daemon/main.ts',
      // Each thread needs a file of its own.
      'hash-worker': 'desktop/engine/hash/hash-worker.ts',
      'stripe-worker': 'desktop/engine/upload/stripe-worker.ts',
      'pac-worker': 'desktop/engine/proxy/pac-worker.ts',
    },
    { 'desktop/ui/dist': '../../ui/dist' },
  );
}

/** Bundles the native host, which browsers start. */
function bundleHost() {
  return bundle(
    join(stage, 'millrace', 'native-host'),
    { main: 'desktop/native-host/main.ts' },
    { 'desktop/engine/daemon/main.ts': '../engine/daemon/main.mjs' },
  );
}

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

const flags = process.argv.slice(2);
if (flags.includes('npm')) {
  console.log(`The npm package is ${await packageNpm()}`);
} else {
  await putTogether();
  const folder = { platform: builderPlatform(), target: 'dir', on: [process.platform] };
  if (!flags.includes('--stage')) {
    makePackages(flags.includes('--unpacked') ? [folder] : [folder, ...TARGETS]);
  }
}
