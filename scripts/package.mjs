/**
 * Makes packages, each in a folder of `dist`. Names those that this machine cannot make, with the
 * reason.
 *
 *   npm        the npm package of the command line, daemon and edge, in dist/npm
 *   deb, rpm   packages for Linux, in dist/linux
 *   standalone executables in one file, in dist/standalone; --for linux-arm64 (darwin-arm64,
 *              win32-x64 and so on) for another system
 *   app        the app with its window, by electron-builder, in dist/packages
 *   --stage    of the app, only assemble the parts, in dist/stage
 *   --unpacked make the app as a folder only, no packages
 *
 * Without a kind all are made. --arch makes deb and rpm for another architecture (arm64);
 * --out FOLDER puts all but the app into another folder than `dist`. Tests make deb and rpm quickly by
 * --compression none, and some of another --version.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packagingOptions, TARGETS } from '../desktop/shell/packaging.mjs';
import { VERSION } from '../shared/src/base/version.ts';
import { buildShell } from './build-shell.mjs';
import { buildUi } from './build-ui.mjs';
import { bundle, root } from './bundle.mjs';
import { copyBuilt, packageNpm } from './package-npm.mjs';
import { makeDeb } from './packages/deb.mjs';
import { nodeFor } from './packages/nodes.mjs';
import { sourceTime } from './packages/reproducible.mjs';
import { makeRpm } from './packages/rpm.mjs';
import { makeStandalone } from './packages/standalone.mjs';

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
      'search-worker': 'desktop/engine/reuse/search-worker.ts',
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
  for (const { platform, target, archs, on } of targets) {
    const name = target === 'dir' ? `${platform}, as a folder` : `${platform}, ${target}`;
    const reason = on.includes(process.platform)
      ? runBuilder(platform, target, archs)
      : `it can be made on ${on.join(', ')} only`;
    console.log(reason === undefined ? `made:    ${name}` : `skipped: ${name}: ${reason}`);
  }
  console.log(`The packages are in ${output}`);
}

/** Makes one package. @returns the reason if it could not be made, otherwise undefined */
function runBuilder(platform, target, archs) {
  const config = join(output, `${platform}-${target}.json`);
  const options = packagingOptions(stage, output, platform === builderPlatform());
  writeFileSync(config, JSON.stringify(options, null, 2));
  const kind = [`--${platform}`, target, ...archs.map((arch) => `--${arch}`)];
  const flags = [...kind, '--projectDir', join(stage, 'app'), '--config', config];
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

async function makeApp({ stage: onlyStage, unpacked }) {
  await putTogether();
  const folder = {
    platform: builderPlatform(),
    target: 'dir',
    archs: [process.arch],
    on: [process.platform],
  };
  if (onlyStage) return;
  makePackages(unpacked ? [folder] : [folder, ...TARGETS]);
}

/** Makes packages for Linux, and says which cannot be made here. */
async function makeLinux(kinds, arch) {
  const folder = join(out, 'linux');
  mkdirSync(folder, { recursive: true });
  const { compression } = values;
  const given = { arch, compression, time: sourceTime() };
  const options = { npm: await npmFolder(), ...given };
  for (const kind of kinds) {
    const make = { deb: makeDeb, rpm: makeRpm }[kind];
    for (const version of values.version) {
      await told(`${kind}, ${arch}`, async () =>
        make(folder, { ...options, version, node: nodeFor('linux', arch) }),
      );
    }
  }
}

async function makeExecutables(systems) {
  const folder = join(out, 'standalone');
  mkdirSync(folder, { recursive: true });
  const npm = await npmFolder();
  for (const system of systems) {
    const [platform, arch] = system.split('-');
    await told(`standalone, ${system}`, () => makeStandalone(folder, npm, { platform, arch }));
  }
}

/** Says what is being made, which may take minutes, and what has been made, or why not. */
async function told(name, make) {
  console.error(`making:  ${name} ...`);
  try {
    console.log(`made:    ${name}: ${await make()}`);
  } catch (error) {
    console.log(`skipped: ${name}: ${error.message.split('\n')[0]}`);
    if (kinds.length > 0) process.exitCode = 1;
  }
}

let npmPackage;
/** Makes the npm package, once. @returns its unpacked folder */
async function npmFolder() {
  npmPackage ??= await packageNpm(join(out, 'npm'));
  return join(out, 'npm', 'package');
}

const { values, positionals: kinds } = parseArgs({
  allowPositionals: true,
  options: {
    stage: { type: 'boolean', default: false },
    unpacked: { type: 'boolean', default: false },
    arch: { type: 'string', default: process.arch },
    compression: { type: 'string', default: 'xz' },
    version: { type: 'string', multiple: true, default: [VERSION] },
    out: { type: 'string', default: join(root, 'dist') },
    for: { type: 'string', multiple: true, default: [`${process.platform}-${process.arch}`] },
  },
});
const out = resolve(values.out);
const KINDS = ['npm', 'deb', 'rpm', 'standalone', 'app'];
const unknown = kinds.find((kind) => !KINDS.includes(kind));
if (unknown !== undefined) {
  console.error(`Unknown kind of package "${unknown}". Known: ${KINDS.join(', ')}`);
  process.exit(2);
}
const onlyApp = values.stage || values.unpacked;
const wanted = kinds.length > 0 ? kinds : onlyApp ? ['app'] : KINDS;
if (wanted.includes('npm')) {
  npmPackage = await packageNpm(join(out, 'npm'));
  console.log(`made:    npm: ${npmPackage}`);
}
const linux = wanted.filter((kind) => kind === 'deb' || kind === 'rpm');
if (linux.length > 0) await makeLinux(linux, values.arch);
if (wanted.includes('standalone')) await makeExecutables(values.for);
if (wanted.includes('app')) await makeApp(values);
