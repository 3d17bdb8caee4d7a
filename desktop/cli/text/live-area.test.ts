import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { displayWidth } from './display.ts';
import { LiveArea } from './live-area.ts';

/** Emulates the terminal features that LiveArea uses; `lines` returns the lines shown. */
function screen(columns: number, rows: number) {
  const out = Object.assign(new PassThrough({ encoding: 'utf8' }), { columns, rows });
  const lines = () => {
    const shown: string[] = [];
    let at = 0;
    const written = String(out.read() ?? '').replaceAll(/\x1b\[(?:K|\?25[hl])/g, '');
    for (const [, up, below, text, line] of written.matchAll(
      /\x1b\[(\d+)A|(\x1b\[J)|((?:[^\x1b\n\r]|\x1b\[\d*m)+)|(\n)/g,
    )) {
      if (up !== undefined) at -= Number(up);
      if (below !== undefined) shown.length = at;
      if (text !== undefined) shown[at] = text;
      if (line !== undefined) at++;
    }
    return shown;
  };
  return { out, lines };
}

test('a redraw replaces the earlier lines in place', () => {
  const { out, lines } = screen(40, 10);
  const area = new LiveArea(out);
  area.draw(['one', 'two', 'three']);
  area.draw(['uno', 'dos']);
  expect(lines()).toEqual(['uno', 'dos']);
});

test('no line wraps, no line scrolls away', () => {
  const { out, lines } = screen(10, 4);
  const area = new LiveArea(out);
  expect(area.rows).toBe(3);
  area.draw([`\x1b[1m${'x'.repeat(30)}\x1b[22m`, '文件文件文件文件', 'c', 'd', 'e']);
  const drawn = lines();
  expect(drawn).toEqual(['xxxxxxxx…', '文件文件…', 'c']);
  for (const line of drawn) expect(displayWidth(line)).toBeLessThan(10);
});

test('the cursor is shown again at the end', () => {
  const { out } = screen(40, 10);
  const area = new LiveArea(out);
  area.draw(['one']);
  area.leave();
  const written = out.read();
  expect(written.indexOf('\x1b[?25l')).toBe(0);
  expect(written.endsWith('\x1b[?25h')).toBe(true);
});

test('a terminal of unknown size is taken for one of ordinary size', () => {
  const { out, lines } = screen(0, 0);
  const area = new LiveArea(out);
  expect(area.rows).toBe(23);
  area.draw(['one', 'two']);
  expect(lines()).toEqual(['one', 'two']);
});
