import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { manifest } from '../../extension/src/manifest.mjs';
import { VERSION } from '../../shared/src/base/version.ts';
import { EXTENSION_PAGE, INSTALL_PAGE, PACKAGER, SITE } from '../../shared/src/base/web-pages.ts';
import { EDGE_RELATION } from '../../shared/src/http/urls/edge-links.ts';
import { changelogSection, withVersionNamed } from './changelog.ts';
import { checksumLines, missingAccounts, missingFrom, stepsOf } from './plan.ts';
import { otherVersions, withVersion } from './versions.ts';

const CHANGELOG = `# Changelog

## 1.1.0 (unreleased)

New things.

### Added

- A thing.

## 1.0.0 (2026-01-02)

The first.
`;

describe('the changelog', () => {
  test('gives the section of a version, with its day once it has one', () => {
    expect(changelogSection(CHANGELOG, '1.1.0')).toEqual({
      date: undefined,
      notes: 'New things.\n\n### Added\n\n- A thing.\n',
    });
    expect(changelogSection(CHANGELOG, '1.0.0')).toEqual({
      date: '2026-01-02',
      notes: 'The first.\n',
    });
  });

  test('of a version without a section, or with a heading of another form, is refused', () => {
    expect(() => changelogSection(CHANGELOG, '1.0')).toThrow('no section of 1.0');
    expect(() => changelogSection('## 2.0.0 (soon)\n', '2.0.0')).toThrow('names no day');
  });

  test('gets version and day in its newest section when a version is set, and keeps the others', () => {
    const named = withVersionNamed(CHANGELOG, '2.0.0', '2026-12-01');
    expect(named).toBe(CHANGELOG.replace('## 1.1.0 (unreleased)', '## 2.0.0 (2026-12-01)'));
    expect(changelogSection(named, '2.0.0').date).toBe('2026-12-01');
    // Once more, on another day: it stays that of its release.
    expect(withVersionNamed(named, '2.0.0', '2026-12-02')).toBe(named);
    expect(() => withVersionNamed(named, '2.1.0', '2026-12-02')).toThrow('nothing for 2.1.0');
    const candidate = withVersionNamed(CHANGELOG, '2.0.0-rc.1', '2026-11-30');
    expect(withVersionNamed(candidate, '2.0.0', '2026-12-01')).toBe(named);
  });

  test('has a section of the version that the programs report', () => {
    const own = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
    expect(changelogSection(own, VERSION).notes.length).toBeGreaterThan(100);
  });
});

describe('the version', () => {
  test('is the same in every place that states it', () => {
    expect(otherVersions()).toEqual([]);
  });

  test('is set in every place at once', () => {
    const texts = withVersion('7.8.9');
    expect(Object.keys(texts)).toHaveLength(9);
    for (const [file, text] of Object.entries(texts)) {
      expect([file, text.includes('7.8.9')]).toEqual([file, true]);
    }
    expect(texts['edge/deploy/helm/millrace-edge/Chart.yaml']?.match(/7\.8\.9/g)).toHaveLength(2);
    expect(() => withVersion('7.8')).toThrow('form of a version');
  });
});

test('the extension of a candidate has a version that browsers take', () => {
  const of = (browser: string, version: string) => manifest(browser, version, () => true);
  expect(of('firefox', '1.2.3-rc.1')).toMatchObject({ version: '1.2.3' });
  expect(of('chromium', '1.2.3-rc.1')).toMatchObject({
    version: '1.2.3',
    version_name: '1.2.3-rc.1',
  });
  expect(of('chromium', '1.2.3')).not.toHaveProperty('version_name');
});

describe('uploads', () => {
  const files = ['millrace-1.0.0.tgz', 'millrace_1.0.0_amd64.deb', 'millrace-firefox-1.0.0.zip'];

  test('go where each kind of file belongs; the release becomes public when all are there', () => {
    const commands = stepsOf('1.0.0', files).flatMap((step) => step.commands);
    const words = commands.map(([program, ...args]) => [program, args[1], args.at(-1)]);
    expect(words).toEqual([
      ['gh', 'create', 'dist/release/millrace-firefox-1.0.0.zip'],
      ['npx', 'web-ext@10.7.0', 'dist/extension/firefox'],
      ['npm', '--provenance', 'dist/release/millrace-1.0.0.tgz'],
      ['gh', 'edit', '--latest'],
    ]);
    expect(commands[0]).toEqual(expect.arrayContaining(['--draft', 'v1.0.0']));
    // A version to try is not what everybody's app updates to.
    expect(stepsOf('1.0.0-rc.1', files).at(-1)?.commands[0]).toContain('--prerelease');
  });

  test('name the accounts that they lack', () => {
    const [github] = stepsOf('1.0.0', files);
    expect(github && missingAccounts(github, {})).toEqual(['GH_TOKEN']);
    expect(github && missingAccounts(github, { GH_TOKEN: 'x' })).toEqual([]);
  });

  test('an incomplete release says what it lacks', () => {
    const missing = missingFrom(files);
    expect(missing).toContain('rpm for x86_64');
    expect(missing).not.toContain('deb for amd64');
    expect(missing).not.toContain('npm package');
  });

  test('checksums are in the form of sha256sum, sorted by name', () => {
    const digests = new Map([
      ['b', '2'.repeat(64)],
      ['a', '1'.repeat(64)],
    ]);
    expect(checksumLines(digests)).toBe(`${'1'.repeat(64)}  a\n${'2'.repeat(64)}  b\n`);
  });
});

test.each(['release', 'window'])('the workflow %s runs commands that exist', (name) => {
  const url = (path: string) => new URL(`../../${path}`, import.meta.url);
  const text = readFileSync(url(`.github/workflows/${name}.yml`), 'utf8');
  const { scripts } = JSON.parse(readFileSync(url('package.json'), 'utf8'));
  const commands = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, command]) => command);
  expect(commands.length).toBeGreaterThan(0);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(commands));
});

test('the workflow release pushes every image that there is, with its contents and its provenance', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8');
  const job = text.slice(text.indexOf('\n  images:'));
  const pushed = [...job.matchAll(/file: (\S+Dockerfile)$/gm)].map(([, file]) => file);
  const files = globSync('*/deploy/Dockerfile', { cwd: root }).map((file) =>
    file.split(sep).join('/'),
  );
  expect(files.length).toBeGreaterThan(1);
  expect(pushed.toSorted()).toEqual(files.toSorted());
  expect(job).toMatch(/provenance: mode=max\n +sbom: true/);
  // The chart of the edge takes its own version, which has no "v", as the tag.
  expect(job).toContain('pattern={{version}}');
});

test('RELEASING.md names every page that programs lead to, and no source has another address of it', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const page = readFileSync(join(root, 'RELEASING.md'), 'utf8');
  for (const url of [SITE, INSTALL_PAGE, EXTENSION_PAGE, EDGE_RELATION])
    expect(page).toContain(`| \`${url}\` |`);
  expect(page).toContain(PACKAGER.email);
  const sources = globSync(
    ['{shared,edge,desktop,extension}/**/*.{ts,tsx,mjs}', 'scripts/**/*.{ts,mjs}'],
    {
      cwd: root,
      exclude: (path) => /node_modules|\bdist\b|\.test\.ts/.test(path),
    },
  );
  const naming = sources.filter((file) =>
    readFileSync(join(root, file), 'utf8').includes(`//${new URL(SITE).host}/`),
  );
  expect(naming.map((file) => file.split(sep).join('/')).toSorted()).toEqual([
    'shared/src/base/web-pages.ts',
    'shared/src/http/urls/edge-links.ts',
  ]);
});
