import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cutEnd, cutMiddle, displayWidth, pad } from './display.ts';
import { printable } from './printable.ts';
import { type Column, table } from './table.ts';

describe('text on a terminal', () => {
  test('characters that would act on the terminal become visible', () => {
    expect(printable('a\x1b[31mred\x07\nb')).toBe('a\ufffd[31mred\ufffd\ufffdb');
    expect(printable('photo\u202egpj.exe')).toBe('photo\ufffdgpj.exe');
    expect(printable('ünïcödé 文件 😀')).toBe('ünïcödé 文件 😀');
  });

  test('wide characters take two columns', () => {
    expect(displayWidth('文件.iso')).toBe(8);
    expect(pad('文', 4, 'left')).toBe('文  ');
    expect(pad('文', 4, 'right')).toBe('  文');
    expect(pad('longer', 4, 'left')).toBe('longer');
  });

  test('sentences lose their end, file names their middle', () => {
    expect(cutEnd('The origin is busy', 11)).toBe('The origin…');
    expect(cutMiddle('debian-13.2.0-amd64-DVD-1.iso', 20)).toBe('debian-13.…DVD-1.iso');
    expect(cutMiddle('short.iso', 20)).toBe('short.iso');
    expect(cutMiddle('很长的文件名很长的文件名.iso', 13)).toBe('很长的…名.iso');
    expect(cutEnd('x', 0)).toBe('');
    expect(cutMiddle('xy', 1)).toBe('…');
  });

  test('cut text fits, and no character is split', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, width) => {
        for (const cut of [cutEnd(text, width), cutMiddle(text, width)]) {
          expect(displayWidth(cut)).toBeLessThanOrEqual(Math.max(width, 0));
          expect(cut.isWellFormed()).toBe(text.isWellFormed());
        }
      }),
    );
  });
});

const COLUMNS: readonly Column[] = [
  { title: 'ID' },
  { title: 'NAME', cut: 'middle', min: 10 },
  { title: 'SIZE', align: 'right' },
  { title: 'NOTE', cut: 'end', min: 4 },
];

describe('tables', () => {
  test('columns are as wide as their widest cell', () => {
    expect(
      table(
        COLUMNS,
        [
          ['a1', '文件.iso', '3 GiB', 'fine'],
          ['b2', 'x', '12 B', ''],
        ],
        200,
      ),
    ).toEqual(['ID  NAME       SIZE  NOTE', 'a1  文件.iso  3 GiB  fine', 'b2  x          12 B']);
  });

  test('an empty column is left out', () => {
    expect(table(COLUMNS, [['a1', 'x', '', '']], 200)).toEqual(['ID  NAME', 'a1  x']);
  });

  test('for a program, cells have tabs between them, and every column is there', () => {
    expect(table(COLUMNS, [['a1', 'x y', '', '']], undefined)).toEqual([
      'ID\tNAME\tSIZE\tNOTE',
      'a1\tx y\t\t',
    ]);
  });

  test('where room is short, the widest column that can be cut is narrowed', () => {
    const rows = [['a1', 'debian-13.2.0-amd64-DVD-1.iso', '3.7 GiB', 'again in 0:30']];
    const lines = table(COLUMNS, rows, 40);
    expect(lines[1]).toBe('a1  debian…1.iso  3.7 GiB  again in 0:…');
    for (const line of lines) expect(displayWidth(line)).toBeLessThan(40);
  });

  test('painting does not change the layout', () => {
    const rows = [['a1', '文件', '1 B', 'x']];
    const painted = table(COLUMNS, rows, 30, (text) => `\x1b[1m${text}\x1b[22m`);
    expect(painted.map(displayWidth)).toEqual(table(COLUMNS, rows, 30).map(displayWidth));
    expect(painted[0]).not.toContain('\x1b');
  });

  test('a table without rows has an empty head', () => {
    expect(table(COLUMNS, [], 80)).toEqual(['']);
  });
});

describe('tables with too little room', () => {
  const narrow: readonly Column[] = [
    { title: 'ID' },
    { title: 'NAME', cut: 'middle', min: 6 },
    { title: 'SIZE', drop: 2 },
    { title: 'SPEED', drop: 1 },
  ];
  const rows = [['a1', 'long-name.iso', '3.75 GiB', '12 MiB/s']];

  test('leave out columns, the least important first', () => {
    expect(table(narrow, rows, 60)[0]).toBe('ID  NAME           SIZE      SPEED');
    expect(table(narrow, rows, 24)).toEqual(['ID  NAME       SIZE', 'a1  long….iso  3.75 GiB']);
    expect(table(narrow, rows, 12)).toEqual(['ID  NAME', 'a1  lon…iso']);
    expect(table(narrow, rows, 1)).toEqual(['ID  NAME', 'a1  lon…so']);
  });

  test('stay within the width whatever their cells contain', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.string(), { maxLength: 4 })), (cells) => {
        const clean = cells.map((row) => row.map((text) => printable(text).slice(0, 9)));
        const lines = table(narrow, clean, 25);
        const fixed = Math.max(2, ...clean.map((row) => displayWidth(row[0] ?? '')));
        for (const line of lines) expect(displayWidth(line)).toBeLessThan(Math.max(25, fixed + 9));
      }),
    );
  });
});
