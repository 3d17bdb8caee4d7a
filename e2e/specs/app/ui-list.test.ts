/** The interface with thousands of downloads: scrolled, searched, sorted, selected, reordered. */

import { expect, test } from '@jest/globals';
import { barriers } from '../../fixtures/pages/axe.ts';
import { rowOf } from '../../fixtures/pages/ui.ts';
import { UiStage } from '../../fixtures/pages/ui-stage.ts';
import { until } from '../../fixtures/until.ts';

const ENTRIES = 2000;
const LINE = 6;

/** A history as the daemon exports it, and some paused downloads before it. */
const ui = new UiStage('long lists in the interface', async ({ daemon }) => {
  const ended = Array.from({ length: ENTRIES }, (_, i) => ({
    request: { urls: [`http://127.0.0.1:9/file-${String(i).padStart(4, '0')}.iso`] },
    state: 'complete',
    name: `file-${String(i).padStart(4, '0')}.iso`,
    length: (i + 1) * 1000,
    finishedAt: 1_700_000_000_000 + i * 60_000,
  }));
  const text = JSON.stringify({ millrace: 'downloads', format: 1, downloads: ended });
  await daemon.call('millrace.import', { text, format: 'json' });
  for (let i = 0; i < LINE; i++) {
    await daemon.add({ urls: [`http://127.0.0.1:9/waits-${i}.zip`], paused: true });
  }
});

const rows = () => ui.page.getByRole('grid').locator('[data-gid]');
const selected = () => ui.page.getByRole('grid').locator('[aria-selected="true"]');
const line = async () => {
  const { downloads } = await ui.daemon.call('millrace.list', {
    status: ['paused'],
  });
  return downloads.map(({ name }) => name.replace(/\D/g, '')).join('');
};
/** Returns the numbers of the paused downloads in the order in which the page shows them. */
const shownLine = async () => {
  const tops = await rows().evaluateAll((all) =>
    all.map((row) => ({
      top: row.getBoundingClientRect().top,
      name: row.querySelector('.name')?.textContent ?? '',
    })),
  );
  const inOrder = tops
    .filter(({ name }) => name.startsWith('waits-'))
    .sort((a, b) => a.top - b.top);
  return inOrder.map(({ name }) => name.replace(/\D/g, '')).join('');
};

ui.when('two thousand entries', () => {
  test('are shown from end to end, a screen at a time', async () => {
    await rowOf(ui.page, 'waits-0.zip').waitFor();
    await ui.page.locator(`[role="grid"][aria-rowcount="${ENTRIES + LINE + 1}"]`).waitFor();
    expect(await rows().count()).toBeLessThan(40);
    await ui.page.getByRole('grid').focus();
    await ui.page.keyboard.press('End');
    await rowOf(ui.page, 'file-0000.iso').waitFor();
    expect(await rows().count()).toBeLessThan(40);
    await ui.page.keyboard.press('Home');
    await rowOf(ui.page, 'waits-0.zip').waitFor();
    const elements = await ui.page.evaluate(() => document.querySelectorAll('*').length);
    expect(elements).toBeLessThan(1500);
  });

  test('are counted by the filters', async () => {
    const filter = (name: string) => ui.page.getByRole('navigation').getByRole('button', { name });
    await filter('All').getByText('2,006').waitFor();
    // The earlier list has these rows too: the list has changed once the others are gone.
    await filter('Done').click();
    await rowOf(ui.page, 'waits-0.zip').waitFor({ state: 'detached' });
    await rowOf(ui.page, 'file-1999.iso').waitFor();
    await filter('Archives').click();
    await rowOf(ui.page, 'waits-5.zip').waitFor();
    await until(async () => (await rows().count()) === LINE);
    await filter('Failed').click();
    await ui.page.getByText('No download has failed.').waitFor();
    await ui.page.getByRole('button', { name: 'Show all downloads' }).click();
    await rowOf(ui.page, 'waits-0.zip').waitFor();
  });

  test('are searched as a whole', async () => {
    await ui.page.keyboard.press('/');
    await ui.page.keyboard.type('0042');
    await rowOf(ui.page, 'file-0042.iso').waitFor();
    await until(async () => (await rows().count()) === 1);
    await ui.page.keyboard.type('nothing like it');
    await ui.page.getByText('No match').waitFor();
    await ui.page.keyboard.press('Escape');
    await rowOf(ui.page, 'waits-0.zip').waitFor();
  });

  test('are sorted as a whole', async () => {
    const sort = async (what: string) => {
      await ui.page.getByRole('button', { name: /Sorted by/ }).click();
      await ui.page.getByRole('menuitemradio', { name: what }).click();
    };
    await sort('Size');
    await rowOf(ui.page, 'file-1999.iso').waitFor();
    await sort('Size');
    await rowOf(ui.page, 'file-0000.iso').waitFor();
    await sort('Queue order');
    await rowOf(ui.page, 'waits-0.zip').waitFor();
  });

  test('are sorted by the names of columns, which say so', async () => {
    const head = (name: string) => ui.page.getByRole('columnheader', { name });
    const sorted = (name: string, how: string) =>
      head(name)
        .and(ui.page.locator(`[aria-sort="${how}"]`))
        .waitFor();
    await head('Name').getByRole('button').click();
    await rowOf(ui.page, 'file-0000.iso').waitFor();
    await sorted('Name', 'ascending');
    await ui.page.keyboard.press('Enter');
    await rowOf(ui.page, 'waits-5.zip').waitFor();
    await sorted('Name', 'descending');
    // The next column has the focus, and the list is sorted by it with the keyboard alone.
    await ui.page.keyboard.press('ArrowRight');
    await ui.page.keyboard.press('Space');
    await sorted('Size', 'descending');
    await sorted('Name', 'none');
    // By name, the list had the largest files too, but after these.
    await rowOf(ui.page, 'waits-5.zip').waitFor({ state: 'detached' });
    await rowOf(ui.page, 'file-1999.iso').waitFor();
    expect(await barriers(ui.page)).toEqual([]);
  });

  test('have columns that are chosen and resized, and stay so', async () => {
    const head = (name: string) => ui.page.getByRole('columnheader', { name });
    const menu = ui.page.getByRole('button', { name: /Sorted by/ });
    const width = async () => Math.round((await head('Size').boundingBox())?.width ?? 0);
    const widthIs = (px: number) => until(async () => (await width()) === px);
    const keptAre = (columns: string) =>
      until(async () => {
        const { preferences } = await ui.daemon.call('millrace.getSettings');
        return preferences['list.columns'] === columns;
      });
    const before = await width();
    await head('Size').getByRole('button').focus();
    await ui.page.keyboard.press('Shift+ArrowLeft');
    await widthIs(before + 8);
    const handle = await head('Size').locator('.resizer').boundingBox();
    if (handle === null) throw new Error('the column has no handle');
    await ui.page.mouse.move(handle.x + 4, handle.y + 8);
    await ui.page.mouse.down();
    await ui.page.mouse.move(handle.x - 26, handle.y + 8, { steps: 3 });
    await ui.page.mouse.up();
    await widthIs(before + 38);
    await menu.click();
    await ui.page.getByRole('menuitemcheckbox', { name: 'Speed' }).click();
    await ui.page.getByRole('menuitemcheckbox', { name: 'Finished' }).click();
    await head('Speed').waitFor({ state: 'hidden' });
    await ui.page.keyboard.press('Escape');
    await head('Finished').waitFor();
    await keptAre(`size:${before + 38},progress:84,eta:64,finished:130`);
    await ui.page.reload();
    await widthIs(before + 38);
    await head('Finished').waitFor();
    await menu.click();
    await ui.page.getByRole('menuitem', { name: 'Usual columns' }).click();
    await head('Speed').waitFor();
    await widthIs(before);
    await rowOf(ui.page, 'waits-0.zip').waitFor();
  });

  test('are selected by pointer and keyboard, and changed together', async () => {
    await rowOf(ui.page, 'waits-1.zip').click();
    await rowOf(ui.page, 'waits-3.zip').click({ modifiers: ['Shift'] });
    await until(async () => (await selected().count()) === 3);
    await rowOf(ui.page, 'waits-2.zip').click({ modifiers: ['Control'] });
    await until(async () => (await selected().count()) === 2);
    await ui.page.keyboard.press('Control+a');
    await ui.page.getByText('2,006 selected').waitFor();
    await ui.page.keyboard.press('Escape');
    await rowOf(ui.page, 'waits-4.zip').click();
    await ui.page.keyboard.press('Shift+ArrowDown');
    await ui.page.getByText('2 selected').waitFor();
    await ui.page.getByRole('toolbar').getByRole('button', { name: 'Remove' }).click();
    await ui.page.getByText('2 downloads removed').waitFor();
    // The button is there for ten seconds.
    await ui.page.getByRole('button', { name: 'Undo' }).click();
    await ui.page.getByText('2 downloads are back').waitFor();
    await rowOf(ui.page, 'waits-5.zip').waitFor();
    await until(async () => (await line()).length === LINE);
  });

  test('of the queue change places by keyboard and by dragging', async () => {
    const before = await line();
    expect(before).toHaveLength(LINE);
    const [first = '', second = '', third = ''] = before;
    await rowOf(ui.page, `waits-${first}.zip`).click();
    await ui.page.keyboard.press('Alt+ArrowDown');
    await until(async () => (await line()).startsWith(second + first));
    await until(async () => (await shownLine()).startsWith(second + first));
    await ui.page.keyboard.press('Alt+ArrowUp');
    await until(async () => (await line()) === before);
    // Rows are dragged where the page shows them.
    await until(async () => (await shownLine()).startsWith(before));

    const from = await rowOf(ui.page, `waits-${third}.zip`).boundingBox();
    const to = await rowOf(ui.page, `waits-${first}.zip`).boundingBox();
    if (from === null || to === null) throw new Error('rows are not shown');
    await ui.page.mouse.move(from.x + 120, from.y + from.height / 2);
    await ui.page.mouse.down();
    await ui.page.mouse.move(to.x + 120, to.y + to.height / 2, { steps: 6 });
    await ui.page.mouse.move(to.x + 120, to.y + 4, { steps: 3 });
    await ui.page.mouse.up();
    await until(async () => (await line()).startsWith(third + first + second));
    await until(async () => (await shownLine()).startsWith(third + first + second));
  });
});
