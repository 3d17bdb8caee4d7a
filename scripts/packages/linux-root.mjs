/**
 * Lays out the files of the package for Linux, for deb and rpm alike: programs with a Node of their
 * own, and everything by which a system finds them.
 */

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { completionScript } from '../../desktop/cli/completion/scripts.ts';
import { manifestOf, SYSTEM_MANIFESTS } from '../../desktop/native-host/registration.ts';
import { root } from '../bundle.mjs';
import { drawIcons, ICON } from '../draw-icons.mjs';
import { metainfo } from '../release/manifests/metainfo.ts';
import { APP_ID } from '../release/manifests/package-facts.ts';
import { manPage } from './man-page.ts';
import { gzipped } from './reproducible.mjs';

/** Folder of the programs in the package. */
const HOME = 'usr/lib/millrace';
const ICON_SIZES = [16, 24, 32, 48, 64, 128, 256, 512];
const FILES = join(root, 'scripts', 'packages', 'files');

/** Native code in the npm package's optional dependencies, by architecture of Node. */
const NATIVE_PARTS = {
  x64: ['@node-rs/xxhash-linux-x64-gnu', '@koromix/koffi-linux-x64'],
  arm64: ['@node-rs/xxhash-linux-arm64-gnu', '@koromix/koffi-linux-arm64'],
};

/** Programs by which libraries build their native code. */
const BUILD_TOOL = /\/(?:cnoke|trampolines)\.cjs$/;

/**
 * Lays out the files.
 *
 * @param folder folder to fill: the root of the file system
 * @param options.npm folder of the npm package (`packageNpm`)
 * @param options.node path of the Node for the package's architecture
 * @param options.arch that architecture, as Node names it
 * @param options.date day of the release, such as 2026-11-27
 * @param options.version version of the package
 * @param options.zshFolder folder in which the distribution's zsh looks
 * @returns paths of the files that users may edit, from the root
 */
export async function layOut(folder, { npm, node, arch, date, version, zshFolder }) {
  const at = (path) => {
    const whole = join(folder, path);
    mkdirSync(dirname(whole), { recursive: true });
    return whole;
  };
  const write = (path, text, mode = 0o644) => {
    writeFileSync(at(path), text);
    chmodSync(join(folder, path), mode);
  };
  const copy = (from, path, mode = 0o644) => {
    cpSync(from, at(path));
    chmodSync(join(folder, path), mode);
  };

  // The package's own Node starts the program: its first line would name another one.
  const main = readFileSync(join(npm, 'bin', 'millrace.mjs'), 'utf8').replace(/^#!.*\n/, '');
  write(`${HOME}/bin/millrace.mjs`, main);
  for (const part of ['lib', 'LICENSE', 'THIRD-PARTY.txt', 'package.json'])
    cpSync(join(npm, part), at(`${HOME}/${part}`), { recursive: true });
  copy(node, `${HOME}/node`, 0o755);
  copy(join(FILES, 'daemons.mjs'), `${HOME}/daemons.mjs`);
  copyNative(at(`${HOME}/node_modules`), arch);
  write('usr/bin/millrace', script('bin/millrace.mjs'), 0o755);
  write(`${HOME}/native-host`, script('lib/native-host.mjs'), 0o755);

  write('usr/share/man/man1/millrace.1.gz', gzipped(await manPage(date)));
  const zsh = `${zshFolder}/_millrace`;
  for (const [shell, path] of [
    ['bash', 'usr/share/bash-completion/completions/millrace'],
    ['zsh', zsh],
    ['fish', 'usr/share/fish/vendor_completions.d/millrace.fish'],
  ])
    write(path, completionScript(shell, 'millrace'));

  copy(join(FILES, 'millrace.service'), 'usr/lib/systemd/user/millrace.service');
  copy(join(FILES, 'millrace.desktop'), 'usr/share/applications/millrace.desktop');
  copy(join(FILES, 'millrace.xml'), 'usr/share/mime/packages/millrace.xml');
  write(`usr/share/metainfo/${APP_ID}.metainfo.xml`, metainfo('millrace.desktop', version, date));
  const icons = join(root, 'dist', 'icons');
  drawIcons(icons, ICON_SIZES);
  for (const size of ICON_SIZES) {
    const name = `usr/share/icons/hicolor/${size}x${size}/apps/millrace.png`;
    copy(join(icons, `${size}.png`), name);
  }
  copy(ICON, 'usr/share/icons/hicolor/scalable/apps/millrace.svg');
  for (const [browser, path] of SYSTEM_MANIFESTS)
    write(path.slice(1), manifestOf(browser, `/${HOME}/native-host`));
  write('usr/share/doc/millrace/copyright', copyright());
  return SYSTEM_MANIFESTS.map(([, path]) => path).filter((path) => path.startsWith('/etc/'));
}

/** Copies the optional libraries of native code; without one, the programs have another way. */
export function copyNative(folder, arch) {
  for (const [from, names] of [
    ['desktop', ['@node-rs/xxhash', NATIVE_PARTS[arch]?.[0]]],
    ['edge', ['koffi', NATIVE_PARTS[arch]?.[1]]],
  ]) {
    const [library, part] = names;
    const require = createRequire(join(root, from, 'package.json'));
    const place = folderOf(require, library);
    const native = place && part && folderOf(createRequire(join(place, 'package.json')), part);
    if (!native) {
      console.log(`without ${library}: its part for this architecture is not installed here`);
      continue;
    }
    // Libraries bring the sources of their native code as well.
    const isWanted = (path) =>
      /^(?:\/(?!node_modules|doc|vendor|lib)[^/]+)*$/.test(path) &&
      (statSync(place + path).isDirectory() || /\.(?:c?js|json|txt)$/.test(path)) &&
      !BUILD_TOOL.test(path);
    const filter = (path) => isWanted(path.slice(place.length).replaceAll('\\', '/'));
    cpSync(place, join(folder, library), { recursive: true, dereference: true, filter });
    // Node is linked with glibc.
    const isOwn = (path) => !path.includes('musl');
    cpSync(native, join(folder, part), { recursive: true, dereference: true, filter: isOwn });
  }
}

/** Finds an installed package; not all of them let others resolve their package.json. */
function folderOf(require, name) {
  const paths = require.resolve.paths(name) ?? [];
  const found = paths.map((path) => join(path, name)).find((path) => existsSync(path));
  return found === undefined ? undefined : realpathSync(found);
}

const script = (main) => `#!/bin/sh\nexec /${HOME}/node /${HOME}/${main} "$@"\n`;

/** Describes the licences, as Debian's policy asks (DEP 5). */
function copyright() {
  const own = readFileSync(join(root, 'LICENSE'), 'utf8');
  const [, ...text] = own.trim().split('\n');
  const indented = text.map((line) => (line.trim() === '' ? ' .' : ` ${line}`)).join('\n');
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Millrace
Comment: /${HOME}/THIRD-PARTY.txt has the licenses of the libraries in the bundles.
 /${HOME}/node is Node.js, whose license (MIT, and others for its parts) is at
 https://github.com/nodejs/node/blob/main/LICENSE.

Files: *
Copyright: the authors of Millrace
License: Expat
${indented}
`;
}
