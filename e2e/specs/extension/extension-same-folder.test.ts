/**
 * The extension in a real Chromium whose folder is also the app's, as it is for users who have
 * chosen neither: both give a file the same name, and it must be there in the end, whoever has it.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import { sha256 } from '../../fixtures/origins/content.ts';
import { ExtensionStage } from '../../fixtures/pages/extension-stage.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';
import { until } from '../../fixtures/until.ts';

const seed = testSeed('hand-offs within one folder');
const MB = 1024 * 1024;
const hooks = testsWhere(browserOrComplain('hand-offs within one folder'));
const { beforeAll, describe, test } = hooks;

const stage = ExtensionStage.forAllTests(hooks, {
  desktop: true,
  prepare: (desktop, downloads) =>
    desktop.json('daemon', '--detach', '--port', '0', '--dir', downloads),
});

beforeAll(async () => {
  await stage.browser.set({ minBytes: MB, taker: 'desktop' });
});

const own = async (path: string) =>
  (await stage.browser.listed()).filter(({ url }) => url.endsWith(path)).map(({ state }) => state);

async function apps(path: string): Promise<string[]> {
  const { downloads } = await stage.cli.call('list');
  return downloads
    .filter(({ name }) => name.startsWith(`${path.slice(1)}.`))
    .map(({ status }) => status);
}

/** Waits until browser or app has the file, complete; then it is in the folder once, and right. */
async function endsOnce(path: string): Promise<void> {
  const name = path.slice(1);
  await until(async () => {
    await stage.browser.wakeBackground();
    return [...(await own(path)), ...(await apps(path))].join() === 'complete';
  });
  await until(async () => (await stage.browser.handOffs()) === 0);
  // The trash folder stays until the app knows that there is nothing to put into it.
  let file = 'nothing';
  await until(async () => {
    const there = (await readdir(stage.browser.downloads)).filter((one) => one.includes(name));
    [file = 'nothing'] = there;
    return there.length === 1 && !file.endsWith('load');
  });
  expect(file).toMatch(new RegExp(`^${name}(\\.1)?\\.bin$`));
  expect(sha256(await readFile(join(stage.browser.downloads, file)))).toBe(
    stage.files.digest(path),
  );
}

test('a file whose hand-off goes well is there under its name', async () => {
  await stage.click('/well');
  await endsOnce('/well');
  expect(await own('/well')).toEqual([]);
  expect(await readdir(stage.browser.downloads)).toContain('well.bin');
});

test('a file that both complete, because cancelling takes time, is not deleted', async () => {
  // In this background `cancel` never ends. The next background has the browser's own again.
  await (await stage.browser.worker()).evaluate(() => {
    const { downloads } = (globalThis as unknown as { chrome: { downloads: object } }).chrome;
    Object.assign(downloads, { cancel: () => new Promise(() => {}) });
  });
  const ending = await stage.browser.watchPhase('ending');
  await stage.click('/both');
  await ending();
  await until(async () => (await apps('/both')).join() === 'complete');
  stage.files.release();
  await until(async () => (await own('/both')).join() === 'complete');
  await stage.browser.killBackground();
  await endsOnce('/both');
});

describe('the background ends, and the browser’s download is complete before the next one begins,', () => {
  const random = seededRandom(seed);

  test.each(['offering', 'checking', 'committing', 'settling', 'ending'])(
    'in the phase %s',
    async (phase) => {
      const path = `/dies-${phase}`;
      const reached = await stage.browser.watchPhase(phase);
      const killed = reached().then(async () => {
        for (let turns = Math.floor(random() * 5); turns > 0; turns--) {
          await stage.browser.asExtension('0');
        }
        await stage.browser.killBackground();
      });
      await stage.click(path);
      await killed;
      stage.files.release();
      await until(async () => !(await own(path)).includes('in_progress'));
      await endsOnce(path);
    },
  );
});
