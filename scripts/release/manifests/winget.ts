/**
 * Makes the three manifests of the Windows Package Manager, in version 1.10.0 of their schema
 * (learn.microsoft.com/windows/package-manager/package/manifest).
 */

import {
  DESCRIPTION,
  filesOf,
  HOMEPAGE,
  LICENSE,
  type Manifests,
  NAME,
  type Released,
  SUMMARY,
} from './package-facts.ts';

const SCHEMA = '1.10.0';
const IDENTIFIER = 'Millrace.Millrace';
const LANGUAGE = 'en-US';

/** Installers by electron-builder; one without an architecture in its name is for both. */
const INSTALLER = /-win(?:-(x64|arm64))?\.exe$/;

/** Quotes a text for YAML; JSON is a part of it. */
const quoted = (text: string) => JSON.stringify(text);

/**
 * Returns the manifests by path, in the folders of microsoft/winget-pkgs.
 *
 * @returns undefined if the release has no installer for Windows
 */
export function wingetManifests(released: Released): Manifests | undefined {
  const installers = filesOf(released, INSTALLER);
  if (installers.length === 0) return undefined;
  const { version, date, base } = released;
  const head = (
    kind: string,
  ) => `# yaml-language-server: $schema=https://aka.ms/winget-manifest.${kind}.${SCHEMA}.schema.json
PackageIdentifier: ${IDENTIFIER}
PackageVersion: ${quoted(version)}
`;
  const foot = (kind: string) => `ManifestType: ${kind}
ManifestVersion: ${SCHEMA}
`;
  const entries = installers.flatMap(({ name, url, sha256 }) => {
    const own = INSTALLER.exec(name)?.[1];
    return (own === undefined ? ['x64', 'arm64'] : [own]).map(
      (architecture) => `- Architecture: ${architecture}
  InstallerUrl: ${quoted(url)}
  InstallerSha256: ${quoted(sha256.toUpperCase())}
`,
    );
  });
  const folder = `manifests/m/Millrace/Millrace/${version}/${IDENTIFIER}`;
  return {
    [`${folder}.yaml`]: `${head('version')}DefaultLocale: ${LANGUAGE}
${foot('version')}`,
    [`${folder}.installer.yaml`]: `${head('installer')}InstallerType: nullsoft
Scope: user
UpgradeBehavior: install
Protocols:
- millrace
FileExtensions:
- exnode
- meta4
- metalink
${date === undefined ? '' : `ReleaseDate: ${date}\n`}Installers:
${entries.join('')}${foot('installer')}`,
    [`${folder}.locale.${LANGUAGE}.yaml`]: `${head('defaultLocale')}PackageLocale: ${LANGUAGE}
Publisher: ${NAME}
PackageName: ${NAME}
PackageUrl: ${quoted(HOMEPAGE)}
License: ${LICENSE}
ShortDescription: ${quoted(SUMMARY)}
Description: ${quoted(DESCRIPTION.join('\n'))}
Moniker: millrace
Tags:
- download
- download-manager
- metalink
ReleaseNotesUrl: ${quoted(base.replace('/download/', '/tag/').replace(/\/$/, ''))}
${foot('defaultLocale')}`,
  };
}
