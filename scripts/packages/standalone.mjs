/**
 * Makes standalone executables: a Node with the npm package inside, in one file (single executable
 * applications, nodejs.org/api/single-executable-applications.html).
 */

import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { VERSION } from '../../shared/src/base/version.ts';
import { root } from '../bundle.mjs';
import { copyNative } from './linux-root.mjs';
import { must, nodeFor } from './nodes.mjs';

const POSTJECT = 'postject@1.0.0-alpha.6';
/** Text in every Node that marks the place of the contents. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** Runs a program from a file: the executable's own main file cannot import files. */
const START = "module.exports = (file) => import(require('node:url').pathToFileURL(file).href);\n";

/**
 * Makes an executable.
 *
 * @param folder folder to write it to
 * @param npm folder of the npm package (`packageNpm`)
 * @returns path of the executable. One for macOS still has to be signed there (`codesign`)
 */
export async function makeStandalone(folder, npm, { platform, arch }) {
  const node = nodeFor(platform, arch);
  const stage = join(folder, `standalone-${platform}-${arch}`);
  rmSync(stage, { recursive: true, force: true });
  const inside = join(stage, 'inside');
  mkdirSync(inside, { recursive: true });
  cpSync(join(npm, 'lib'), join(inside, 'lib'), { recursive: true });
  for (const name of ['LICENSE', 'THIRD-PARTY.txt', 'package.json'])
    cpSync(join(npm, name), join(inside, name));
  if (platform === 'linux') copyNative(join(inside, 'node_modules'), arch);
  writeFileSync(join(inside, 'start.cjs'), START);
  const main = await bundleMain(stage);

  const files = readdirSync(inside, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(inside, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .toSorted();
  const contents = join(stage, 'contents.json');
  writeFileSync(contents, JSON.stringify({ id: digestOf(inside, files), files }));
  const blob = join(stage, 'contents.blob');
  const config = join(stage, 'config.json');
  const assets = Object.fromEntries(files.map((file) => [file, join(inside, file)]));
  writeFileSync(
    config,
    JSON.stringify({
      main,
      output: blob,
      disableExperimentalSEAWarning: true,
      assets: { 'contents.json': contents, ...assets },
    }),
  );
  must(nodeFor(process.platform, process.arch), ['--experimental-sea-config', config]);

  const system = { win32: 'windows', darwin: 'macos' }[platform] ?? platform;
  const end = platform === 'win32' ? '.exe' : '';
  const path = join(folder, `millrace-${VERSION}-${system}-${arch}${end}`);
  cpSync(node, path);
  chmodSync(path, 0o755);
  const more = platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : [];
  const flags = ['NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE, ...more];
  must('npx', ['--yes', POSTJECT, path, ...flags], { shell: process.platform === 'win32' });
  rmSync(stage, { recursive: true });
  return path;
}

async function bundleMain(stage) {
  const { build } = createRequire(join(root, 'desktop', 'package.json'))('esbuild');
  const outfile = join(stage, 'main.cjs');
  await build({
    entryPoints: [join(root, 'desktop', 'cli', 'launch', 'standalone.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    legalComments: 'none',
    logLevel: 'warning',
  });
  return outfile;
}

function digestOf(folder, files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(folder, file)));
  return hash.digest('hex').slice(0, 32);
}
