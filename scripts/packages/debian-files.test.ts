import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const FILES = new URL('./debian-files.mjs', import.meta.url).href;
const { debianChangelog } = await import(FILES);
const hasParser = spawnSync('dpkg-parsechangelog', ['--version']).error === undefined;

test.each(['1.2.3', '1.2.3-rc.1'])(
  'the changelog of version %s gives its day and its makers on the last line',
  (version) => {
    const text = debianChangelog(version, Date.UTC(2026, 10, 7, 1, 2, 3) / 1000);
    expect(text.split('\n')[0]).toBe(`millrace (${version}) stable; urgency=medium`);
    expect(text).toMatch(/\n -- Millrace <\S+@\S+> {2}Sat, 07 Nov 2026 01:02:03 \+0000\n$/);
  },
);

(hasParser ? test : test.skip)('dpkg’s own program reads the changelog without a complaint', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  try {
    const path = join(folder, 'changelog');
    writeFileSync(path, debianChangelog('1.2.3', 1_800_000_000));
    const options = { encoding: 'utf8' } as const;
    const { stdout, stderr } = spawnSync('dpkg-parsechangelog', ['--all', '-l', path], options);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^Version: 1\.2\.3$/m);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the exceptions from lintian’s rules name their reasons', () => {
  const text = readFileSync(new URL('./files/lintian-overrides', import.meta.url), 'utf8');
  const lines = text.trim().split('\n');
  expect(lines[0]).toMatch(/^# /);
  for (const line of lines) expect(line).toMatch(/^(?:# .+|millrace: [a-z-]+ .*\[.+\])$/);
});
