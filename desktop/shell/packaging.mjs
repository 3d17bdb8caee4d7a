/** How electron-builder makes packages from the output of scripts/package.mjs. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGER, SITE } from '../../shared/src/base/web-pages.ts';

/** Version of Electron that the app is built for: that of its types. */
const ELECTRON = '45.4.1';

/**
 * The daemon runs in Electron's own program; other ways to change what that program runs are
 * switched off. Electrons of other versions may not have these fuses.
 */
const FUSES = {
  runAsNode: true,
  enableNodeOptionsEnvironmentVariable: false,
  enableNodeCliInspectArguments: false,
  onlyLoadAppFromAsar: true,
  enableCookieEncryption: true,
};

/**
 * Returns the options for electron-builder.
 *
 * @param stage folder with `app` and `millrace`, absolute
 * @param output folder for the packages
 * @param own true for packages for the system that this runs on: a given Electron is for no other
 */
export function packagingOptions(stage, output, own, env = process.env) {
  const given = own ? env.ELECTRON_OVERRIDE_DIST_PATH : undefined;
  const versionFile = join(given ?? '', 'version');
  const version =
    given && existsSync(versionFile)
      ? readFileSync(versionFile, 'utf8').trim().replace(/^v/, '')
      : ELECTRON;
  return {
    appId: 'dev.millrace.app',
    productName: 'Millrace',
    copyright: 'MIT licensed',
    extraMetadata: {
      description: 'Downloads large files fast, safely, and resumably',
      homepage: SITE,
      author: PACKAGER,
    },
    electronVersion: version,
    ...(given ? { electronDist: given } : {}),
    directories: { app: join(stage, 'app'), output, buildResources: join(stage, 'icons') },
    files: ['**/*'],
    // Everything is in the bundles already.
    npmRebuild: false,
    nodeGypRebuild: false,
    asar: true,
    // The daemon runs on any Node, which cannot read archives.
    extraResources: [{ from: join(stage, 'millrace'), to: 'millrace' }],
    icon: join(stage, 'app', 'icons', '1024.png'),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: electron-builder's own variables
    artifactName: 'millrace-${version}-${os}-${arch}.${ext}',
    // Without an address the app is made without updates.
    publish: env.MILLRACE_UPDATE_URL ? { provider: 'generic', url: env.MILLRACE_UPDATE_URL } : null,
    protocols: [{ name: 'Millrace link', schemes: ['millrace'] }],
    fileAssociations: [
      {
        ext: 'meta4',
        name: 'Metalink 4',
        description: 'Description of a download with its sources',
        mimeType: 'application/metalink4+xml',
        role: 'Viewer',
        rank: 'Owner',
      },
      {
        ext: 'metalink',
        name: 'Metalink',
        description: 'Description of a download with its sources',
        mimeType: 'application/metalink+xml',
        role: 'Viewer',
        rank: 'Default',
      },
      {
        ext: 'exnode',
        name: 'exNode',
        description: 'Description of a file and of the depots that keep it',
        mimeType: 'application/vnd.millrace.exnode+json',
        role: 'Viewer',
        rank: 'Owner',
      },
    ],
    linux: {
      // The package `millrace` has the command line, and a menu entry of its own.
      executableName: 'millrace-app',
      category: 'Network',
      synopsis: 'Downloads large files fast, safely, and resumably',
      maintainer: `${PACKAGER.name} <${PACKAGER.email}>`,
      icon: join(stage, 'icons'),
      desktop: { entry: { StartupWMClass: 'Millrace', Keywords: 'download;metalink;http;' } },
    },
    deb: {
      packageName: 'millrace-app',
      recommends: ['millrace'],
      depends: ['libgtk-3-0', 'libnss3', 'libgbm1', 'libasound2', 'xdg-utils'],
    },
    rpm: { packageName: 'millrace-app' },
    nsis: { oneClick: false, perMachine: false, allowToChangeInstallationDirectory: true },
    mac: {
      category: 'public.app-category.utilities',
      darkModeSupport: true,
      hardenedRuntime: true,
      // electron-builder signs with CSC_LINK and notarizes with APPLE_API_KEY, where they are set.
      notarize: env.APPLE_API_KEY !== undefined,
    },
    ...(version === ELECTRON ? { electronFuses: FUSES } : {}),
  };
}

/**
 * Kinds of packages, the architectures of each, and the systems that can build it. macOS updates
 * itself from the zip.
 */
export const TARGETS = [
  { platform: 'linux', target: 'AppImage', archs: ['x64', 'arm64'], on: ['linux', 'darwin'] },
  { platform: 'linux', target: 'deb', archs: ['x64', 'arm64'], on: ['linux', 'darwin'] },
  { platform: 'linux', target: 'rpm', archs: ['x64', 'arm64'], on: ['linux', 'darwin'] },
  { platform: 'win', target: 'nsis', archs: ['x64', 'arm64'], on: ['win32', 'linux', 'darwin'] },
  { platform: 'mac', target: 'dmg', archs: ['universal'], on: ['darwin'] },
  { platform: 'mac', target: 'zip', archs: ['universal'], on: ['darwin'] },
];
