import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { placesOf } from './manifests.ts';
import { metainfo } from './metainfo.ts';
import { APP_ID, type Manifests, type Released } from './package-facts.ts';

// The edge's package has the parser.
const edge = createRequire(new URL('../../../edge/package.json', import.meta.url));
const { parse } = edge('yaml') as { parse(text: string): Record<string, unknown> };

const PACKAGING = new URL('../../../desktop/shell/packaging.mjs', import.meta.url).href;
const { packagingOptions } = await import(PACKAGING);

const ENTRY = readFileSync(
  new URL('../../packages/files/millrace.desktop', import.meta.url),
  'utf8',
);
const DAY = '2026-11-27';
const digestOf = (n: number) => n.toString(16).repeat(64);

/** A release with these files, whose digests are 1111…, 2222… and so on. */
function released(names: readonly string[], version = '1.2.3', date?: string): Released {
  const digests = new Map(names.map((name, at) => [name, digestOf(at + 1)]));
  return { version, date, base: `https://files.test/x/releases/download/v${version}/`, digests };
}

function manifestsOf(folder: string, of: Released): Manifests {
  const found = placesOf(of, ENTRY, DAY).find((place) => place.folder === folder)?.manifests;
  if (found === undefined) throw new Error(`no manifests for ${folder}`);
  return found;
}

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Has a program judge a file. @returns what it prints, if it refuses the file */
function judged(name: string, text: string, [program, ...args]: readonly [string, ...string[]]) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const { status, stdout, stderr } = spawnSync(program, [...args, path], { encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

/** Tests by a program that may be missing here. */
const ifThereIs = (program: string) =>
  spawnSync(program, ['--version']).error === undefined ? test : test.skip;

describe('winget', () => {
  const files = ['millrace-1.2.3-win-x64.exe', 'millrace-1.2.3-win-arm64.exe'];

  test('gets three files of one schema and one version, with the checksum of each installer', () => {
    const manifests = manifestsOf('winget', released(files, '1.2.3', DAY));
    const parsed = Object.values(manifests).map(parse);
    expect(Object.keys(manifests).map((path) => path.replace(/.*\//, ''))).toEqual([
      'Millrace.Millrace.yaml',
      'Millrace.Millrace.installer.yaml',
      'Millrace.Millrace.locale.en-US.yaml',
    ]);
    expect(parsed.map(({ ManifestType }) => ManifestType)).toEqual([
      'version',
      'installer',
      'defaultLocale',
    ]);
    for (const each of parsed)
      expect(each).toMatchObject({
        PackageIdentifier: 'Millrace.Millrace',
        PackageVersion: '1.2.3',
        ManifestVersion: '1.10.0',
      });
    expect(parsed[1]?.Installers).toEqual([
      {
        Architecture: 'arm64',
        InstallerUrl: 'https://files.test/x/releases/download/v1.2.3/millrace-1.2.3-win-arm64.exe',
        InstallerSha256: digestOf(2).toUpperCase(),
      },
      expect.objectContaining({ Architecture: 'x64', InstallerSha256: digestOf(1).toUpperCase() }),
    ]);
    expect(parsed[2]).toMatchObject({
      License: 'MIT',
      ReleaseNotesUrl: 'https://files.test/x/releases/tag/v1.2.3',
    });
    // Limits of the schema, in characters.
    expect(String(parsed[2]?.ShortDescription).length).toBeLessThanOrEqual(256);
    expect(String(parsed[2]?.Description).length).toBeLessThanOrEqual(10_000);
  });

  test('takes one installer for both architectures, and no version for a number', () => {
    const [, installer = '', locale = ''] = Object.values(
      manifestsOf('winget', released(['millrace-1.0.0-win.exe'], '1.0')),
    );
    expect(parse(installer)).toMatchObject({
      PackageVersion: '1.0',
      Installers: [{ Architecture: 'x64' }, { Architecture: 'arm64' }],
    });
    expect(parse(installer)).not.toHaveProperty('ReleaseDate');
    expect(parse(locale).Description).toMatch(/^Millrace downloads.*\n./);
  });
});

describe('Homebrew', () => {
  const files = ['millrace-1.2.3.tgz', 'millrace-1.2.3-mac-universal.dmg'];

  test('gets a cask for the app, and a formula for the command line, each with its checksum', () => {
    const tap = manifestsOf('homebrew', released(files));
    expect(Object.keys(tap)).toEqual(['Casks/millrace.rb', 'Formula/millrace.rb']);
    expect(tap['Casks/millrace.rb']).toContain(
      `  version "1.2.3"\n  sha256 "${digestOf(2)}"\n\n  url "https://files.test/x/releases/download/v#{version}/millrace-#{version}-mac-universal.dmg"\n`,
    );
    expect(tap['Formula/millrace.rb']).toContain(
      `  url "https://files.test/x/releases/download/v1.2.3/millrace-1.2.3.tgz"\n  sha256 "${digestOf(1)}"\n`,
    );
  });

  test('gets no cask without a disk image', () => {
    expect(Object.keys(manifestsOf('homebrew', released(files.slice(0, 1))))).toEqual([
      'Formula/millrace.rb',
    ]);
  });

  ifThereIs('ruby')('reads both as Ruby', () => {
    for (const [path, text] of Object.entries(manifestsOf('homebrew', released(files))))
      expect(judged(path.replace('/', '-'), text, ['ruby', '-c'])).toBe('');
  });
});

describe('Flathub', () => {
  const files = ['millrace-1.2.3-linux-amd64.deb', 'millrace-1.2.3-linux-arm64.deb'];
  const manifests = () => manifestsOf('flatpak', released(files));

  test('gets a manifest that unpacks the deb of each architecture, with the files that it names', () => {
    const all = manifests();
    const manifest = parse(all[`${APP_ID}.yml`] ?? '');
    expect(manifest).toMatchObject({ id: APP_ID, command: 'millrace-app' });
    const [{ sources }] = manifest.modules as [{ sources: Record<string, unknown>[] }];
    expect(sources.slice(0, 2)).toEqual([
      expect.objectContaining({ 'only-arches': ['x86_64'], sha256: digestOf(1) }),
      expect.objectContaining({ 'only-arches': ['aarch64'], sha256: digestOf(2) }),
    ]);
    for (const { path } of sources.slice(2)) expect(all[String(path)]).toBeDefined();
    // The names that electron-builder gives.
    const { appId, productName, linux } = packagingOptions('/stage', '/out', false, {});
    expect(appId).toBe(APP_ID);
    expect(all[`${APP_ID}.yml`]).toContain(`cp -a opt/${productName}/. `);
    expect(all['millrace-app']).toContain(`/${linux.executableName} "$@"`);
  });

  ifThereIs('desktop-file-validate')('takes the menu entry', () => {
    const name = `${APP_ID}.desktop`;
    expect(judged(name, manifests()[name] ?? '', ['desktop-file-validate'])).toBe('');
  });

  ifThereIs('appstreamcli')('takes the description', () => {
    const name = `${APP_ID}.metainfo.xml`;
    const check = ['appstreamcli', 'validate', '--no-net'] as const;
    expect(judged(name, manifests()[name] ?? '', check)).toBe('');
    const candidate = metainfo('millrace.desktop', '1.3.0-rc.1', DAY);
    expect(judged(name, candidate, check)).toBe('');
  });
});

test('a release without packages of a place gets no manifests for it, and says what is missing', () => {
  const places = placesOf(released(['millrace_1.2.3_amd64.deb']), ENTRY, DAY);
  expect(places.map(({ manifests }) => manifests)).toEqual([undefined, undefined, undefined]);
  for (const { needs } of places) expect(needs).not.toBe('');
});

ifThereIs('desktop-file-validate')('the menu entry of the Linux packages is well formed', () => {
  expect(judged('millrace.desktop', ENTRY, ['desktop-file-validate'])).toBe('');
});
