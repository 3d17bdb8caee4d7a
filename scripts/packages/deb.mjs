/** Makes the package for Debian and Ubuntu, with dpkg-deb alone. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../shared/src/base/version.ts';
import { PACKAGER, SITE } from '../../shared/src/base/web-pages.ts';
import { addDebianFiles } from './debian-files.mjs';
import { layOut } from './linux-root.mjs';
import { settle } from './reproducible.mjs';

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
/** Libraries that the Node in the package is linked with, and its oldest C library. */
const DEPENDS = 'libc6 (>= 2.28), libgcc-s1, libstdc++6';

/** Scripts of the package. A daemon of the old version must not go on: its program is replaced. */
const SCRIPTS = {
  postinst: 'if [ "$1" = configure ] && [ -n "$2" ]; then daemons restart; fi',
  prerm: 'if [ "$1" = remove ]; then daemons end; fi',
};

/**
 * Makes the package.
 *
 * @param folder folder to work in and to write the package to
 * @param options as for `layOut`, and `time`, that of the files, seconds since 1970; `version`, for
 *   tests; `compression`, as dpkg-deb names it
 * @returns path of the package
 */
export async function makeDeb(folder, { time, version = VERSION, compression = 'xz', ...options }) {
  const architecture = ARCHITECTURES[options.arch];
  const stage = join(folder, `deb-${architecture}`);
  rmSync(stage, { recursive: true, force: true });
  const place = { date: dayOf(time), version, zshFolder: 'usr/share/zsh/vendor-completions' };
  const editable = await layOut(stage, { ...place, ...options });
  addDebianFiles(stage, version, time);
  const files = settle(stage, time);
  const size = Math.ceil(files.reduce((sum, file) => sum + file.size, 0) / 1024);
  const control = join(stage, 'DEBIAN');
  mkdirSync(control);
  writeFileSync(join(control, 'control'), controlOf({ version, architecture, size }));
  writeFileSync(join(control, 'conffiles'), editable.map((path) => `${path}\n`).join(''));
  writeFileSync(join(control, 'md5sums'), files.map((file) => sumOf(stage, file)).join(''));
  for (const [name, text] of Object.entries(SCRIPTS)) {
    const path = join(control, name);
    writeFileSync(path, scriptOf(text));
    chmodSync(path, 0o755);
  }
  settle(stage, time);
  const path = join(folder, `millrace_${version}_${architecture}.deb`);
  const flags = ['--root-owner-group', `-Z${compression}`, '--build', stage, path];
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(time) };
  const { status, stderr, error } = spawnSync('dpkg-deb', flags, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`dpkg-deb failed: ${error?.message ?? stderr.trim()}`);
  rmSync(stage, { recursive: true });
  return path;
}

/** Returns the day of a time, such as 2026-11-27. */
export const dayOf = (time) => new Date(time * 1000).toISOString().slice(0, 10);

const sumOf = (stage, { path }) =>
  `${createHash('md5')
    .update(readFileSync(join(stage, path)))
    .digest('hex')}  ${path}\n`;

/** Wraps a command of the package; no failure of it may keep dpkg from its work. */
function scriptOf(text) {
  return `#!/bin/sh
set -e
daemons() {
  /usr/lib/millrace/node /usr/lib/millrace/daemons.mjs "$1" || true
}
${text}
`;
}

const controlOf = ({ version, architecture, size }) => `Package: millrace
Version: ${version}
Architecture: ${architecture}
Maintainer: ${PACKAGER.name} <${PACKAGER.email}>
Installed-Size: ${size}
Depends: ${DEPENDS}
Recommends: xdg-utils
Section: net
Priority: optional
Homepage: ${SITE}
Description: download manager for very large files
 Millrace downloads large files over plain HTTP, fast, safely, and resumably.
 It fetches several parts at a time, from the server, from mirrors and through
 edges, and checks what it gets.
 .
 This package has the command line, the daemon with its page, the program
 through which browsers hand downloads over, and the edge, a cache server for
 publishers. It brings the Node.js that they run on.
`;
