/** Makes the package for Fedora, openSUSE and their relatives, with rpmbuild alone. */

import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SYSTEM_MANIFESTS } from '../../desktop/native-host/registration.ts';
import { VERSION } from '../../shared/src/base/version.ts';
import { SITE } from '../../shared/src/base/web-pages.ts';
import { dayOf } from './deb.mjs';
import { layOut } from './linux-root.mjs';
import { settle } from './reproducible.mjs';

const ARCHITECTURES = { x64: 'x86_64', arm64: 'aarch64' };

/**
 * Makes the package.
 *
 * @param folder folder to work in and to write the package to
 * @param options as for `makeDeb`
 * @returns path of the package
 */
export async function makeRpm(folder, { time, version = VERSION, compression = 'xz', ...options }) {
  const architecture = ARCHITECTURES[options.arch];
  const stage = join(folder, `rpm-${architecture}`);
  const top = join(folder, `rpm-build-${architecture}`);
  for (const path of [stage, top]) rmSync(path, { recursive: true, force: true });
  const place = { date: dayOf(time), version, zshFolder: 'usr/share/zsh/site-functions' };
  const editable = await layOut(stage, { ...place, ...options });
  const files = settle(stage, time);
  const spec = join(folder, `millrace-${architecture}.spec`);
  writeFileSync(spec, specOf({ stage, editable, files, version }));
  const defines = {
    _topdir: top,
    // The host's name and the time of the build would differ each time.
    _buildhost: 'millrace',
    use_source_date_epoch_as_buildtime: '1',
    clamp_mtime_to_source_date_epoch: '1',
    _build_id_links: 'none',
    // Everything is built already, some of it for another machine.
    __os_install_post: '%{nil}',
    _binary_payload: compression === 'none' ? 'w.ufdio' : 'w15.zstdio',
  };
  const flags = Object.entries(defines).flatMap(([name, value]) => ['-D', `${name} ${value}`]);
  const { status, stderr, error } = spawnSync(
    'rpmbuild',
    ['-bb', '--target', architecture, ...flags, spec],
    { encoding: 'utf8', env: { ...process.env, SOURCE_DATE_EPOCH: String(time) } },
  );
  if (status !== 0) throw new Error(`rpmbuild failed: ${error?.message ?? stderr.trim()}`);
  const name = `millrace-${version}-1.${architecture}.rpm`;
  cpSync(join(top, 'RPMS', architecture, name), join(folder, name));
  for (const path of [stage, top, spec]) rmSync(path, { recursive: true });
  return join(folder, name);
}

/** Folders of the system, which other packages own. */
const OTHERS = ['/', '/etc', '/etc/opt', '/usr', '/usr/lib'];

/** Lists the folders above the browsers' manifests that no package has to own, or several may. */
function foldersOfManifests() {
  const above = (path) => (OTHERS.includes(path) ? [] : [...above(dirname(path)), path]);
  return [...new Set(SYSTEM_MANIFESTS.flatMap(([, path]) => above(dirname(path))))];
}

function specOf({ stage, editable, files, version }) {
  const listed = files
    .map(({ path }) => `/${path}`)
    .filter((path) => !path.startsWith('/usr/lib/millrace/') && !editable.includes(path));
  return `Name: millrace
Version: ${version}
Release: 1
Summary: Download manager for very large files
License: MIT
URL: ${SITE}
AutoReqProv: no
Requires: glibc >= 2.28, libgcc, libstdc++
Recommends: xdg-utils

%description
Millrace downloads large files over plain HTTP, fast, safely, and resumably.
This package has the command line, the daemon with its page, the program
through which browsers hand downloads over, and the edge, a cache server for
publishers. It brings the Node.js that they run on.

%install
mkdir -p %{buildroot}
cp -a '${stage}/.' %{buildroot}/

%post
if [ "$1" -gt 1 ]; then /usr/lib/millrace/node /usr/lib/millrace/daemons.mjs restart || :; fi

%preun
if [ "$1" -eq 0 ]; then /usr/lib/millrace/node /usr/lib/millrace/daemons.mjs end || :; fi

%files
%defattr(-,root,root)
/usr/lib/millrace
%dir /usr/share/doc/millrace
${foldersOfManifests()
  .map((path) => `%dir ${path}`)
  .join('\n')}
${listed.join('\n')}
${editable.map((path) => `%config(noreplace) ${path}`).join('\n')}
`;
}
