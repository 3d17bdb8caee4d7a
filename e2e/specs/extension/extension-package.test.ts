/** The extension's packages, as stores check them. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { notTested } from '../../fixtures/not-tested.ts';
import { buildExtension, buildExtensionAnew } from '../../fixtures/pages/extension.ts';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';

const WEB_EXT = 'web-ext@10.7.0';
const MAX_PACKED_BYTES = 700_000;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let built: Awaited<ReturnType<typeof buildExtension>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  built = await buildExtension(folder.path);
});
afterAll(() => folder.remove());

interface Findings {
  readonly errors: readonly object[];
  readonly warnings: readonly object[];
  readonly notices: readonly object[];
}

/** Runs the linter of stores on a build. @returns undefined when there is no linter */
function lint(source: string): Promise<Findings | undefined> {
  const args = ['--yes', WEB_EXT, 'lint', '--source-dir', source, '--output', 'json'];
  return new Promise((resolve) => {
    execFile('npx', args, { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        const why = stderr.trim().split('\n').at(-1);
        notTested(`There is no ${WEB_EXT} (${why})`, 'what stores say');
        resolve(undefined);
      }
    });
  });
}

test('web-ext finds nothing in the Firefox build', async () => {
  const findings = await lint(built.firefox);
  if (findings === undefined) return;
  const { errors, warnings, notices } = findings;
  expect({ errors, warnings, notices }).toEqual({ errors: [], warnings: [], notices: [] });
});

test('both builds ask for the same permissions, but for where the engine runs', async () => {
  const [chromium, firefox] = await Promise.all(
    [built.chromium, built.firefox].map(async (path) =>
      JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8')),
    ),
  );
  expect(chromium.permissions.filter((one: string) => one !== 'offscreen')).toEqual(
    firefox.permissions,
  );
  for (const { content_security_policy: policy } of [chromium, firefox]) {
    expect(policy.extension_pages).toContain("default-src 'none'; script-src 'self'");
    expect(policy.extension_pages).not.toContain('unsafe');
  }
});

test('the same sources make the same packages, which are small', async () => {
  const again = await temporaryFolder();
  try {
    await buildExtensionAnew(again.path);
    const { version } = JSON.parse(await readFile(join(built.chromium, 'manifest.json'), 'utf8'));
    for (const browser of ['chromium', 'firefox']) {
      const name = `millrace-${browser}-${version}.zip`;
      const [one, other] = await Promise.all(
        [folder.path, again.path].map((path) => readFile(join(path, name))),
      );
      expect(other?.equals(one as Buffer)).toBe(true);
      expect(one?.length).toBeLessThan(MAX_PACKED_BYTES);
    }
  } finally {
    await again.remove();
  }
});
