/**
 * Makes the npm package: command line, daemon with its page, native host and edge, as bundles.
 * Works on every system that Node runs on; code for one system is left to optional dependencies.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../shared/src/base/version.ts';
import { buildUi } from './build-ui.mjs';
import { bundle, COMMANDS, NATIVE, root } from './bundle.mjs';

const NODE_MAJOR = 24;

/** The command. Plain JavaScript for every Node: an older one cannot even read the bundles. */
const COMMAND = `#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) >= ${NODE_MAJOR}) {
  await import('../lib/millrace.mjs');
} else {
  console.error('Millrace needs Node.js ${NODE_MAJOR} or newer, and this is ' + process.versions.node + '.');
  console.error('Install a newer one (https://nodejs.org), and run the command again.');
  process.exitCode = 2;
}
`;

/**
 * Makes the package.
 *
 * @param output folder for it; also gets the unpacked package, `package`
 * @returns the path of its archive
 */
export async function packageNpm(output) {
  const folder = join(output, 'package');
  const programs = join(folder, 'lib');
  rmSync(output, { recursive: true, force: true });
  mkdirSync(programs, { recursive: true });
  await buildUi();
  copyBuilt(join(root, 'desktop', 'ui', 'dist'), join(programs, 'page'));
  copyEdgePage(programs);
  const inputs = [...(await bundleCommands(programs)), ...(await bundleEdge(programs))];
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), licenses(inputs));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'millrace.mjs'), COMMAND, { mode: 0o755 });
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'), readme());
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  return pack(folder, output);
}

/** Copies a built folder without its stamps. */
export function copyBuilt(from, to) {
  const filter = (path) => !/[/\\](?:\.stamp|drawn)$/.test(path);
  cpSync(from, to, { recursive: true, filter });
}

/** Bundles what a person's own machine runs. Parts are split: a command loads only its own. */
function bundleCommands(programs) {
  return bundled(
    programs,
    COMMANDS,
    { 'desktop/ui/dist': './page', 'edge/src/main.ts': './edge.mjs' },
    { splitting: true, chunkNames: 'part-[hash]' },
  );
}

function bundleEdge(programs) {
  return bundled(
    programs,
    { edge: 'edge/src/main.ts' },
    { 'edge/browser': './edge-page/', 'shared/style/base.css': './edge-page/shared/base.css' },
  );
}

/** Bundles programs. @returns the paths of the sources in them, from the root of the repository */
async function bundled(programs, sources, places, esbuild = {}) {
  const { metafile } = await bundle(programs, sources, places, {
    external: Object.keys(NATIVE),
    esbuild: { minifyWhitespace: true, ...esbuild },
  });
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
}

/** Copies what the edge's pages consist of. */
function copyEdgePage(programs) {
  const own = join(root, 'edge', 'browser');
  const files = readdirSync(own, { recursive: true }).filter((file) => /\.(?:css|js)$/.test(file));
  for (const name of files) cpSync(join(own, name), join(programs, 'edge-page', name));
  for (const name of ['tokens.css', 'base.css', 'icon.svg']) {
    cpSync(join(root, 'shared', 'style', name), join(programs, 'edge-page', 'shared', name));
  }
}

/** Returns the licences of the libraries in the bundles, as those ask for. */
function licenses(inputs) {
  const folders = inputs.flatMap(
    (input) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0] ?? [],
  );
  const texts = [...new Set(folders)].map((path) => {
    const library = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, path)).find((name) => /^licen[cs]e/i.test(name));
    const text = file === undefined ? '' : readFileSync(join(root, path, file), 'utf8').trim();
    // Older packages list their licences with addresses, instead of naming one.
    const name = library.license ?? library.licenses?.map(({ type }) => type).join(' or ');
    return `${library.name} ${library.version} (${name})\n\n${text}\n`;
  });
  return texts.toSorted().join(`\n${'-'.repeat(80)}\n\n`);
}

function manifest() {
  const { description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const version = (name, from) =>
    Object.assign(
      {},
      ...['dependencies', 'optionalDependencies'].map(
        (key) => JSON.parse(readFileSync(join(root, from, 'package.json'), 'utf8'))[key],
      ),
    )[name];
  return {
    name: 'millrace',
    version: VERSION,
    description,
    license,
    type: 'module',
    bin: { millrace: 'bin/millrace.mjs' },
    engines: { node: `>=${NODE_MAJOR}` },
    optionalDependencies: Object.fromEntries(
      Object.entries(NATIVE).map(([name, from]) => [name, version(name, from)]),
    ),
  };
}

function readme() {
  return readFileSync(join(root, 'scripts', 'package-npm.md'), 'utf8');
}

function pack(folder, output) {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['pack', '--json', '--pack-destination', output],
    { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' },
  );
  if (status !== 0) throw new Error(`npm pack failed:\n${stdout}${stderr}`);
  return join(output, `millrace-${VERSION}.tgz`);
}
