import { describe, expect, test } from '@jest/globals';
import {
  EMPTY_WINDOW,
  gidAt,
  gidsBetween,
  indexOf,
  PAGE_ROWS,
  PageReads,
  pagesToRead,
  withFirstPage,
  withPage,
  withRevision,
} from './list-window.ts';

const page = (from: number, total: number, revision: number, rows = PAGE_ROWS) => ({
  total,
  revision,
  gids: Array.from({ length: Math.min(rows, total - from) }, (_, i) => `g${from + i}`),
});
const at = (from: number, total: number, revision: number) =>
  withPage(EMPTY_WINDOW, from, page(from, total, revision));

describe('a window on a list', () => {
  test('needs its first page when nothing is loaded', () => {
    expect(pagesToRead(EMPTY_WINDOW, 0, 20)).toEqual([0]);
  });

  test('reads visible pages that are missing, to the end of the list', () => {
    const list = at(0, 250, 7);
    expect(pagesToRead(list, 0, 99)).toEqual([]);
    expect(pagesToRead(list, 90, 1000)).toEqual([100, 200]);
    expect(gidAt(list, 99)).toBe('g99');
    expect(gidAt(list, 100)).toBeUndefined();
    expect(indexOf(list, 'g42')).toBe(42);
    expect(indexOf(list, 'g142')).toBe(-1);
  });

  test('of another view has to be read again if the list has changed on the way of its first page', () => {
    const list = withFirstPage(withRevision(at(0, 250, 7), 8), page(0, 30, 7));
    expect(list).toMatchObject({ total: 30, revision: 8 });
    expect(gidAt(list, 29)).toBe('g29');
    expect(pagesToRead(list, 0, 29)).toEqual([0]);
    expect(pagesToRead(withFirstPage(list, page(0, 30, 8)), 0, 29)).toEqual([]);
  });

  test('shows old pages until they have been read again', () => {
    const list = withRevision(at(0, 250, 7), 8);
    expect(gidAt(list, 5)).toBe('g5');
    expect(pagesToRead(list, 0, 10)).toEqual([0]);
    const renewed = withPage(list, 0, page(0, 250, 8));
    expect(pagesToRead(renewed, 0, 10)).toEqual([]);
  });

  test('is not set back by a late answer', () => {
    const list = at(0, 250, 9);
    expect(withPage(list, 0, { total: 3, revision: 8, gids: ['x'] })).toBe(list);
  });

  test('drops pages behind the end of a list that has shrunk', () => {
    const list = withPage(at(0, 250, 7), 200, page(200, 250, 7));
    const shrunk = withPage(list, 0, page(0, 120, 8));
    expect(gidAt(shrunk, 210)).toBeUndefined();
    expect(shrunk.total).toBe(120);
    expect(gidsBetween(shrunk, 101, 98)).toEqual(['g98', 'g99']);
  });
});

describe('reading pages', () => {
  test('does not read a page twice at a time', () => {
    const reads = new PageReads();
    const done = reads.begin(1, 0, 7);
    expect(done).toBeDefined();
    expect(reads.begin(1, 0, 7)).toBeUndefined();
    expect(reads.begin(1, 100, 7)).toBeDefined();
    expect(reads.begin(1, 0, 8)).toBeDefined();
    expect(reads.begin(2, 0, 7)).toBeDefined();
    done?.();
    expect(reads.begin(1, 0, 7)).toBeDefined();
  });

  test('reads a page again that was requested before the list changed', () => {
    const reads = new PageReads();
    const before = reads.begin(1, 0, 7);
    reads.outdate();
    const after = reads.begin(1, 0, 7);
    expect(after).toBeDefined();
    before?.();
    expect(reads.begin(1, 0, 7)).toBeUndefined();
  });
});
