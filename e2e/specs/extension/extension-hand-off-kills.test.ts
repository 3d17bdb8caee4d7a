/** Hand-offs of the extension whose background, or the desktop's daemon, is killed at any moment. */

import { seededRandom } from '@millrace/shared/base/clock';
import { testSeed } from '@millrace/shared/node/testing/test-seed';
import type { BrowserFile } from '../../fixtures/origins/browser-files.ts';
import { ExtensionStage } from '../../fixtures/pages/extension-stage.ts';
import { browserOrComplain } from '../../fixtures/pages/ui.ts';
import { fileOf, HandOffs, MB } from '../../fixtures/stages/hand-offs.ts';
import { testsWhere } from '../../fixtures/tests-where.ts';

const seed = testSeed('hand-offs that are killed');
const hooks = testsWhere(browserOrComplain('hand-offs that are killed'));
const { beforeAll, describe, test } = hooks;

const stage = ExtensionStage.forAllTests(hooks, { desktop: true });
const ends = new HandOffs(stage);

/** Settings with which small files are taken, and by the extension itself if the desktop fails. */
const SMALL = { minBytes: MB, takeInsecure: true };

describe('whenever the background ends', () => {
  beforeAll(() => stage.browser.set({ ...SMALL, taker: 'desktop' }));

  const random = seededRandom(seed);

  /** The phase in which the background ends, and whether the file lets the hand-off succeed. */
  const deaths: (readonly [phase: string, more: Partial<BrowserFile>])[] = [
    ['pausing', {}],
    ['offering', {}],
    ['checking', {}],
    ['committing', {}],
    ['settling', {}],
    ['ending', {}],
    ['offering', { toTakers: 'longer' }],
    ['restoring', { toTakers: 'forbidden' }],
    ['restoring', { toTakers: 'reset' }],
  ];

  test.each(deaths)('while it is %s: %j', async (phase, more) => {
    const path = `/dies-${phase}-${more.toTakers ?? 'well'}`;
    const reached = await stage.browser.watchPhase(phase);
    const killed = reached().then(async () => {
      for (let turns = Math.floor(random() * 5); turns > 0; turns--)
        await stage.browser.asExtension('0');
      await stage.browser.killBackground();
    });
    await stage.click(path, fileOf(path.slice(1), 2 * MB, more));
    await killed;
    await stage.browser.wakeBackground();
    stage.files.release();
    await ends.endsOnce(path);
  });

  test('and the daemon ends with it', async () => {
    for (const phase of ['offering', 'committing']) {
      const path = `/both-${phase}`;
      const reached = await stage.browser.watchPhase(phase);
      const killed = reached().then(async () => {
        await Promise.all([stage.browser.killBackground(), stage.cli.kill()]);
      });
      await stage.click(path, fileOf(path.slice(1), 2 * MB));
      await killed;
      await stage.browser.wakeBackground();
      // After a finished hand-off only the user starts the daemon. Otherwise the native host may
      // already have started it.
      await stage.cli.ensureDaemon('--dir', stage.cli.downloads);
      stage.files.release();
      await ends.endsOnce(path);
    }
  });
});

describe('at any moment, again and again', () => {
  test.each(['desktop', 'browser'])('the background ends: %s', async (taker) => {
    const random = seededRandom(seed);
    await stage.browser.set({ ...SMALL, taker });
    for (let download = 0; download < 3; download++) {
      const path = `/often-${taker}-${download}`;
      const clicked = stage.click(path, fileOf(path.slice(1), 2 * MB));
      for (let kills = 1 + Math.floor(random() * 4); kills > 0; kills--) {
        for (let turns = Math.floor(random() * 40); turns > 0; turns--) {
          await stage.browser.asExtension('0');
        }
        await stage.browser.killBackground();
        if (random() < 0.5) await stage.browser.wakeBackground();
      }
      await clicked;
      await stage.browser.wakeBackground();
      stage.files.release();
      await ends.endsOnce(path);
    }
  });
});
