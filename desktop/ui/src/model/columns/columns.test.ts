import { describe, expect, test } from '@jest/globals';
import {
  columnsOf,
  fitting,
  keep,
  MAX_PX,
  MIN_PX,
  resized,
  toggled,
  USUAL,
  widened,
} from './columns.ts';

const kept = (columns: Parameters<typeof keep>[0]) =>
  columnsOf(keep(columns).preferences as Record<string, unknown>);

describe('columns are kept', () => {
  test('as they were chosen and resized', () => {
    const chosen = resized(toggled(toggled(USUAL, 'host'), 'eta'), 'size', 120);
    expect(chosen.map(({ name }) => name)).toEqual(['size', 'progress', 'speed', 'host']);
    expect(kept(chosen)).toEqual(chosen);
    expect(kept([])).toEqual([]);
    expect(kept(undefined)).toEqual(USUAL);
  });

  test('and what cannot be read is left out', () => {
    const odd = 'size:1e9,colour:80,speed:wide,eta:-3,size:99999';
    expect(columnsOf({ 'list.columns': odd })).toEqual([
      { name: 'size', px: MAX_PX },
      { name: 'eta', px: MIN_PX },
    ]);
    expect(columnsOf({ 'list.columns': 7 })).toEqual(USUAL);
    expect(columnsOf(undefined)).toEqual(USUAL);
  });
});

test('a hidden column is shown at its place, and hidden again', () => {
  const more = toggled(USUAL, 'added');
  expect(more.map(({ name }) => name)).toEqual(['size', 'progress', 'speed', 'eta', 'added']);
  expect(toggled(more, 'added')).toEqual(USUAL);
});

test('a column is made wider and narrower, within bounds', () => {
  const wide = widened(USUAL, 'size', 24);
  expect(widened(wide, 'size', -24)).toEqual(USUAL);
  expect(widened(wide, 'size', 9999)).toEqual(resized(USUAL, 'size', MAX_PX));
  expect(widened(wide, 'size', -9999)).toEqual(resized(USUAL, 'size', MIN_PX));
});

test('columns give way to the name in a narrow list, the least important ones first', () => {
  const names = (px: number) => fitting(toggled(USUAL, 'host'), px, 100).map(({ name }) => name);
  expect(names(2000)).toEqual(['size', 'progress', 'speed', 'eta', 'host']);
  expect(names(720)).toEqual(['size', 'progress', 'speed', 'eta']);
  expect(names(600)).toEqual(['progress', 'speed', 'eta']);
  expect(names(0)).toEqual([]);
});
