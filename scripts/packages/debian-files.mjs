/** Makes the files that Debian's policy asks of a package, beside those that all Linux packages have. */

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PACKAGER, SITE } from '../../shared/src/base/web-pages.ts';
import { root } from '../bundle.mjs';
import { gzipped } from './reproducible.mjs';

const OVERRIDES = join(root, 'scripts', 'packages', 'files', 'lintian-overrides');

/**
 * Writes the files.
 *
 * @param folder root of the package's file system
 * @param version version of the package
 * @param time time of the files, seconds since 1970
 */
export function addDebianFiles(folder, version, time) {
  const changelog = join(folder, 'usr/share/doc/millrace/changelog.gz');
  mkdirSync(dirname(changelog), { recursive: true });
  writeFileSync(changelog, gzipped(debianChangelog(version, time)));
  const overrides = join(folder, 'usr/share/lintian/overrides/millrace');
  mkdirSync(dirname(overrides), { recursive: true });
  copyFileSync(OVERRIDES, overrides);
}

/** Returns the package's changelog, in the form of Debian's policy (4.4). */
export function debianChangelog(version, time) {
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  return `millrace (${version}) stable; urgency=medium

  * Version ${version}; its changes are listed in CHANGELOG.md, to which
    ${SITE} leads.

 -- ${PACKAGER.name} <${PACKAGER.email}>  ${date}
`;
}
