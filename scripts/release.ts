/**
 * Makes a release out of the packages in `dist`: collects them in dist/release, with the section of
 * the changelog, a bill of materials, checksums and a signature, and uploads them. Writes manifests
 * for Flathub, winget and Homebrew, which point to the uploaded files, into dist/manifests.
 *
 *   --version X   only set the version, in every place that states it, and date it in the changelog
 *   --dry-run     upload nothing: print what would go where, and what is missing
 *   --build       first make the packages that this machine can make
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { VERSION } from '../shared/src/base/version.ts';
import { PNPM } from './pnpm.mjs';
import { changelogSection, withVersionNamed } from './release/changelog.ts';
import { type Place, placesOf } from './release/manifests/manifests.ts';
import { checksumLines, missingAccounts, missingFrom, type Step, stepsOf } from './release/plan.ts';
import { otherVersions, withVersion } from './release/versions.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHANGELOG = 'CHANGELOG.md';
const DIST = join(ROOT, 'dist');
const RELEASE = join(DIST, 'release');
const MANIFESTS = join(DIST, 'manifests');
/** Address of the repository, which GitHub's own runs know. */
const REPOSITORY = `${process.env.GITHUB_SERVER_URL ?? 'https://github.com'}/${process.env.GITHUB_REPOSITORY ?? 'millrace/millrace'}`;
/** Folders of `dist` with finished packages. */
const FOLDERS = ['npm', 'linux', 'standalone', 'packages', 'extension'];
/** Names of finished packages; the folders also hold logs and settings. */
const PACKAGES =
  /\.(?:tgz|deb|rpm|AppImage|dmg|zip|exe|blockmap)$|^latest\S*\.yml$|-(?:linux|macos)-\w+$/;

const { values } = parseArgs({
  options: {
    version: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    build: { type: 'boolean', default: false },
  },
});

try {
  if (values.version === undefined) release();
  else setVersion(values.version);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function setVersion(version: string): void {
  const changelog = readFileSync(join(ROOT, CHANGELOG), 'utf8');
  const day = new Date().toISOString().slice(0, 10);
  const texts = {
    ...withVersion(version),
    [CHANGELOG]: withVersionNamed(changelog, version, day),
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(ROOT, file), text);
  console.log(
    `Set ${version} in ${Object.keys(texts).length} files; in ${CHANGELOG} it is of ${day}.`,
  );
}

function release(): void {
  const dryRun = values['dry-run'];
  const others = otherVersions();
  if (others.length > 0) throw new Error(`These are not ${VERSION}:\n${others.join('\n')}`);
  const { date, notes } = changelogSection(readFileSync(join(ROOT, CHANGELOG), 'utf8'), VERSION);
  if (date === undefined && !dryRun)
    throw new Error(`${CHANGELOG}: give ${VERSION} its day in place of "unreleased"`);
  if (values.build) build();
  collect();
  writeFileSync(join(RELEASE, 'NOTES.md'), notes);
  writeBillOfMaterials();
  const files = readdirSync(RELEASE).toSorted();
  const digests = new Map(files.map((file) => [file, digestOf(join(RELEASE, file))]));
  writeFileSync(join(RELEASE, 'SHA256SUMS'), checksumLines(digests));
  writeManifests(
    placesOf(
      { version: VERSION, date, base: `${REPOSITORY}/releases/download/v${VERSION}/`, digests },
      readFileSync(join(ROOT, 'scripts', 'packages', 'files', 'millrace.desktop'), 'utf8'),
      new Date().toISOString().slice(0, 10),
    ),
  );
  files.push('SHA256SUMS', ...sign(dryRun));
  console.log(`Millrace ${VERSION}, ${date ?? 'unreleased'}: ${files.length} files in ${RELEASE}`);
  const missing = missingFrom(files);
  if (missing.length > 0) console.log(`Not made here: ${missing.join(', ')}.`);
  if (missing.length > 0 && !dryRun) throw new Error('A release is complete, or it is not made.');
  publish(stepsOf(VERSION, files), dryRun);
}

function build(): void {
  must(process.execPath, ['scripts/build-extension.mjs']);
  // Says itself what it cannot make.
  spawnSync(process.execPath, ['scripts/package.mjs'], { cwd: ROOT, stdio: 'inherit' });
}

/** Gathers the packages of this version in one folder. */
function collect(): void {
  rmSync(RELEASE, { recursive: true, force: true });
  mkdirSync(RELEASE, { recursive: true });
  for (const folder of FOLDERS.map((name) => join(DIST, name)).filter((path) => existsSync(path))) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const isOwn = entry.name.includes(VERSION) || entry.name.startsWith('latest');
      if (entry.isFile() && isOwn && PACKAGES.test(entry.name))
        cpSync(join(folder, entry.name), join(RELEASE, entry.name));
    }
  }
}

/** Lists all libraries in the packages, in CycloneDX. */
function writeBillOfMaterials(): void {
  const file = join(RELEASE, `millrace-${VERSION}.cdx.json`);
  const kind = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--prod'];
  must('npx', ['--yes', PNPM, '-r', 'sbom', ...kind, '--lockfile-only', '--out', file]);
}

/** Writes the manifests, and says where they belong. */
function writeManifests(places: readonly Place[]): void {
  rmSync(MANIFESTS, { recursive: true, force: true });
  for (const { folder, handIn, needs, manifests } of places) {
    if (manifests === undefined) {
      console.log(`No manifests for ${folder}: the release lacks ${needs}.`);
      continue;
    }
    for (const [path, text] of Object.entries(manifests)) {
      const file = join(MANIFESTS, folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    console.log(`Manifests in ${join(MANIFESTS, folder)}, for ${handIn}.`);
  }
}

/**
 * Signs the checksums with minisign. MILLRACE_MINISIGN_KEY names the file of the key; minisign asks
 * for its password, or reads it from standard input.
 *
 * @returns the name of the signature, if there is one
 */
function sign(dryRun: boolean): string[] {
  const key = process.env.MILLRACE_MINISIGN_KEY;
  if (key === undefined) {
    if (!dryRun) throw new Error('MILLRACE_MINISIGN_KEY names no key to sign the checksums with');
    console.log('Not signed: MILLRACE_MINISIGN_KEY names no key.');
    return [];
  }
  const comment = `Millrace ${VERSION}`;
  must('minisign', ['-S', '-s', key, '-m', join(RELEASE, 'SHA256SUMS'), '-t', comment]);
  return ['SHA256SUMS.minisig'];
}

/** Carries out the steps. Nothing begins while an account is missing: half a release is worse. */
function publish(steps: readonly Step[], dryRun: boolean): void {
  for (const step of steps) {
    console.log(`\n${step.what}:`);
    for (const command of step.commands) console.log(`  ${command.join(' ')}`);
    const missing = missingAccounts(step, process.env);
    if (missing.length > 0) console.log(`  Not possible without ${missing.join(', ')}.`);
  }
  if (dryRun) return console.log('\nA dry run: nothing was uploaded.');
  if (steps.some((step) => missingAccounts(step, process.env).length > 0))
    throw new Error('Nothing was uploaded: accounts are missing.');
  for (const [program = '', ...args] of steps.flatMap(({ commands }) => commands))
    must(program, args);
}

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Runs a program to its end, with its output shown. @throws Error if it fails */
function must(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? `status ${status}`}`);
}
