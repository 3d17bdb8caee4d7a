/** The page on which links are picked, and what all pages of the extension have in common. */

import { expect } from '@jest/globals';
import { barriers, fits } from '../../fixtures/pages/axe.ts';
import { SHOWN } from '../../fixtures/pages/shown-downloads.ts';
import { ViewStage } from '../../fixtures/pages/view-stage.ts';
import { becomes, until } from '../../fixtures/until.ts';

const stage = new ViewStage('the picker of the extension');
const { describe, test } = stage;

describe('the picker', () => {
  const site = 'https://files.example/';
  const names = ['a.iso', 'b.zip', 'c.mp4', 'd.pdf', 'e.zip', 'f.html'];
  const links = [
    ...names.map((name) => ({ url: site + name, text: `The file ${name}` })),
    { url: `${site}a.iso#notes`, text: 'again' },
    { url: 'mailto:someone@files.example', text: 'write' },
    { url: 'javascript:alert(1)', text: 'run' },
  ];
  const found = { page: `${site}list`, title: 'All files', links };
  const option = (name: string) => stage.page.getByRole('option').filter({ hasText: name });
  const chosen = async () =>
    (
      await stage.page.getByRole('option', { selected: true }).locator('.name').allTextContents()
    ).join();
  const added = (list: readonly string[]) => ({
    type: 'add',
    links: list.map((name) => ({ url: site + name, referrer: found.page })),
  });
  const openPicker = async () => {
    await stage.fake.set({ links: { k: found } });
    await stage.open('picker.html?key=k');
    await option('a.iso').waitFor();
    await stage.fake.sent();
  };

  test('lists every file once, filters by type and text, and adds the chosen files', async () => {
    await openPicker();
    expect(await stage.page.getByRole('option').count()).toBe(names.length);
    await stage.button('Archives 2').click();
    await stage.button('Choose all shown').click();
    await stage.button('All 6').click();
    await becomes(chosen, 'b.zip,e.zip');
    await stage.page.getByRole('textbox').fill('FILE mp4');
    await until(async () => (await stage.page.getByRole('option').count()) === 1);
    await option('c.mp4').click();
    await stage.page.getByRole('textbox').fill('nothing like it');
    await stage.page.getByText('No match').waitFor();
    await stage.button('Show all links').click();
    await stage.button('Add 3 downloads').click();
    await stage.page.getByText('3 downloads added').waitFor();
    expect(await stage.fake.sent()).toEqual([added(['b.zip', 'c.mp4', 'e.zip'])]);
    await stage.button('Back to the links').click();
    await becomes(chosen, '');
  });

  test('selects ranges by mouse and by keyboard', async () => {
    await openPicker();
    await option('b.zip').click();
    await option('e.zip').click({ modifiers: ['Shift'] });
    await becomes(chosen, 'b.zip,c.mp4,d.pdf,e.zip');
    await option('d.pdf').click();
    await option('e.zip').click({ modifiers: ['Shift'] });
    await becomes(chosen, 'b.zip,c.mp4');
    await stage.button('Choose none').click();
    await stage.page.getByRole('textbox').focus();
    await stage.page.keyboard.press('ArrowDown');
    await stage.page.keyboard.press('Home');
    await stage.page.keyboard.press('Space');
    await stage.page.keyboard.press('Shift+ArrowDown');
    await stage.page.keyboard.press('Shift+ArrowDown');
    await becomes(chosen, 'a.iso,b.zip,c.mp4');
    await stage.page.keyboard.press('Control+a');
    await stage.page.getByText('6 chosen').waitFor();
    await stage.page.keyboard.press('End');
    await stage.page.keyboard.press('Space');
    await stage.button('Add 5 downloads').click();
    expect(await stage.fake.waitFor(1)).toEqual([added(names.slice(0, -1))]);
  });

  test('lists at most 10,000 links, and renders only a window of them', async () => {
    const many = Array.from({ length: 10_050 }, (_, i) => ({ url: `${site}${i}.iso`, text: '' }));
    await stage.fake.set({ links: { k: { ...found, links: many } } });
    await stage.open('picker.html?key=k');
    await stage.page.getByText('Only the first 10,000 links').waitFor();
    await option('0.iso').first().waitFor();
    expect(await stage.page.getByRole('option').count()).toBeLessThan(60);
    await stage.page.getByRole('listbox').focus();
    await stage.page.keyboard.press('End');
    await option('9999.iso').waitFor();
    await stage.page.keyboard.press('Control+a');
    await stage.button('Add 10,000 downloads').click();
    await stage.page.getByText('10,000 downloads added').waitFor();
  });

  test('says when there are no links, and what failed', async () => {
    await stage.open('picker.html?key=unheard-of');
    await stage.page.getByText('The links are no longer here').waitFor();
    await stage.fake.set({ links: { k: { ...found, links: links.slice(-2) } } });
    await stage.page.goto(stage.page.url().replace('unheard-of', 'k'));
    await stage.page.getByText('No link to download').waitFor();
    await stage.fake.set({ links: { k: found }, failures: { add: 'nobody takes them' } });
    await stage.page.reload();
    await option('a.iso').click();
    await stage.button('Add 1 download').click();
    await stage.page.getByRole('alert').getByText('nobody takes them').waitFor();
    await becomes(chosen, 'a.iso');
  });
});

describe('for everybody', () => {
  const desktopProblem = 'The desktop app is not set up for this browser.';
  const host = { name: 'a-rather-long-name-of-a-host.downloads.example.com', off: false };
  const links = SHOWN.map(({ name }) => ({ url: `https://files.example/${name}`, text: '' }));
  const state = { downloads: SHOWN, host, taker: 'browser', desktopProblem };
  const PAGES = [
    { path: 'popup.html', first: 'row', width: 380, height: 580 },
    { path: 'options.html', first: 'textbox', width: 380, height: 760 },
    { path: 'picker.html?key=k', first: 'option', width: 380, height: 760 },
  ] as const;

  /** Rules to check in each theme: themes differ only in their colours. */
  const RULES = { light: undefined, dark: ['color-contrast'] } as const;

  test.each(PAGES)('$path is accessible in both themes', async ({ path, first, ...size }) => {
    await stage.fake.set({
      state,
      links: { k: { page: 'https://a.example/', title: 'A', links } },
    });
    await stage.open(path, size);
    for (const theme of ['light', 'dark'] as const) {
      await stage.fake.set({ settings: { theme } });
      await stage.page.reload();
      await stage.page.locator(`html[data-theme="${theme}"]`).waitFor();
      await stage.page.getByRole(first).nth(2).click();
      expect({ theme, barriers: await barriers(stage.page, RULES[theme]) }).toEqual({
        theme,
        barriers: [],
      });
      await fits(stage.page);
    }
  });

  test.each(PAGES)(
    '$path speaks German when the browser does',
    async ({ path, first, ...size }) => {
      await stage.fake.set({
        state,
        links: { k: { page: 'https://a.example/', title: 'A', links } },
      });
      await stage.open(path, size);
      await stage.fake.speak(stage.page, 'de-DE');
      await stage.page.getByRole(first).nth(2).waitFor();
      expect(await stage.page.locator('html').getAttribute('lang')).toBe('de');
      const words = {
        row: 'Der Server verweigert',
        textbox: 'Kleinste Größe',
        option: 'Links von A',
      };
      await stage.page.getByText(words[first]).first().waitFor();
      await fits(stage.page);
      if (path === 'popup.html') return;
      // A window of 1,280 by 800 pixels that is zoomed to 200%.
      await stage.page.setViewportSize({ width: 640, height: 400 });
      await fits(stage.page);
    },
  );
});
