/**
 * Makes what Flathub takes: a manifest that unpacks the app's deb, the menu entry, and the
 * description (docs.flatpak.org/en/latest/electron.html). The runtimes name the versions that
 * Electron's base app has been made for.
 */

import { metainfo } from './metainfo.ts';
import { APP_ID, filesOf, type Manifests, type Released } from './package-facts.ts';

const RUNTIME_VERSION = '24.08';
/** The app's package by electron-builder. */
const DEB = /^millrace-.*-linux-(amd64|arm64)\.deb$/;
const FLATPAK_ARCHITECTURES: Readonly<Record<string, string>> = {
  amd64: 'x86_64',
  arm64: 'aarch64',
};

/**
 * Access of the sandbox. Downloads go to the user's folder for them; other folders are granted when
 * the user chooses one, by the portal. The tray and notifications need the session's bus.
 */
const ACCESS = [
  '--share=network',
  '--share=ipc',
  '--socket=wayland',
  '--socket=fallback-x11',
  '--device=dri',
  '--filesystem=xdg-download',
  '--talk-name=org.freedesktop.Notifications',
  '--talk-name=org.kde.StatusNotifierWatcher',
];

/** Starts the app; zypak stands in for Chromium's own sandbox, which cannot be made inside another. */
const START = `#!/bin/sh
exec zypak-wrapper /app/millrace/millrace-app "$@"
`;

/**
 * Returns the files by path.
 *
 * @param menuEntry text of the menu entry of the Linux packages
 * @param day day of the release, for a version that has none yet
 * @returns undefined if the release has no deb of the app
 */
export function flatpakManifests(
  released: Released,
  menuEntry: string,
  day: string,
): Manifests | undefined {
  const debs = filesOf(released, DEB);
  if (debs.length === 0) return undefined;
  const sources = debs.map(({ name, url, sha256 }) => {
    const architecture = FLATPAK_ARCHITECTURES[DEB.exec(name)?.[1] ?? ''];
    return `      - type: file
        dest-filename: millrace.deb
        only-arches: [${architecture}]
        url: ${JSON.stringify(url)}
        sha256: ${JSON.stringify(sha256)}
`;
  });
  const manifest = `# Made by "npm run release" from the version and the checksums of its files.
id: ${APP_ID}
runtime: org.freedesktop.Platform
runtime-version: '${RUNTIME_VERSION}'
sdk: org.freedesktop.Sdk
base: org.electronjs.Electron2.BaseApp
base-version: '${RUNTIME_VERSION}'
command: millrace-app
separate-locales: false
finish-args:
${ACCESS.map((word) => `  - ${word}\n`).join('')}modules:
  - name: millrace
    buildsystem: simple
    build-commands:
      - ar x millrace.deb
      - tar -xf data.tar.*
      - mkdir -p /app/millrace
      - cp -a opt/Millrace/. /app/millrace/
      - install -Dm755 millrace-app /app/bin/millrace-app
      - install -Dm644 ${APP_ID}.desktop /app/share/applications/${APP_ID}.desktop
      - install -Dm644 ${APP_ID}.metainfo.xml /app/share/metainfo/${APP_ID}.metainfo.xml
      - |
        for size in 16 24 32 48 64 128 256 512; do
          install -Dm644 usr/share/icons/hicolor/\${size}x\${size}/apps/millrace-app.png \\
            /app/share/icons/hicolor/\${size}x\${size}/apps/${APP_ID}.png
        done
    sources:
${sources.join('')}      - type: file
        path: millrace-app
      - type: file
        path: ${APP_ID}.desktop
      - type: file
        path: ${APP_ID}.metainfo.xml
`;
  return {
    [`${APP_ID}.yml`]: manifest,
    'millrace-app': START,
    [`${APP_ID}.desktop`]: menuEntry
      .replace(/^Exec=.*$/m, 'Exec=millrace-app %U')
      .replace(/^Icon=.*$/m, `Icon=${APP_ID}`),
    [`${APP_ID}.metainfo.xml`]: metainfo(
      `${APP_ID}.desktop`,
      released.version,
      released.date ?? day,
    ),
  };
}
