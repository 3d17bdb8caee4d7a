import { describe, expect, test } from '@jest/globals';
import { EMPTY_WINDOW, withPage } from './list-window.ts';
import {
  choose,
  NO_SELECTION,
  type Selection,
  step,
  targets,
  within,
  without,
} from './selection.ts';

const list = withPage(EMPTY_WINDOW, 0, {
  total: 6,
  revision: 1,
  gids: ['a', 'b', 'c', 'd', 'e', 'f'],
});
const plain = { shift: false, toggle: false };
const shift = { shift: true, toggle: false };
const toggle = { shift: false, toggle: true };
const chosen = ({ gids }: Selection) => [...gids].sort().join('');

describe('by pointer', () => {
  const b = choose(NO_SELECTION, list, 'b', plain);

  test('a click selects one row; a click with Ctrl adds or removes a row', () => {
    expect(chosen(b)).toBe('b');
    const two = choose(b, list, 'e', toggle);
    expect(chosen(two)).toBe('be');
    expect(chosen(choose(two, list, 'b', toggle))).toBe('e');
    expect(chosen(choose(two, list, 'c', plain))).toBe('c');
  });

  test('a click with Shift selects a range from where it began, up and down', () => {
    const down = choose(b, list, 'd', shift);
    expect(chosen(down)).toBe('bcd');
    expect(chosen(choose(down, list, 'a', shift))).toBe('ab');
    const other = choose(choose(b, list, 'd', toggle), list, 'f', { shift: true, toggle: true });
    expect(chosen(other)).toBe('bdef');
  });
});

describe('by keyboard', () => {
  test('the first step down goes to the first row, the first step up to the last', () => {
    expect(step(NO_SELECTION, list, 1, plain).focus).toBe('a');
    expect(step(NO_SELECTION, list, -1, plain).focus).toBe('f');
    expect(step(NO_SELECTION, list, -6, plain).focus).toBe('a');
    expect(step(NO_SELECTION, list, 6, plain).focus).toBe('f');
  });

  test('steps stop at the ends of the list', () => {
    const last = step(NO_SELECTION, list, -1, plain);
    expect(step(last, list, 5, plain).focus).toBe('f');
    expect(step(last, list, -100, plain).focus).toBe('a');
  });

  test('Shift extends the selection, Ctrl only moves the focus', () => {
    const b = choose(NO_SELECTION, list, 'b', plain);
    const two = step(step(b, list, 1, shift), list, 1, shift);
    expect(chosen(two)).toBe('bcd');
    expect(chosen(step(two, list, -1, shift))).toBe('bc');
    const moved = step(two, list, 1, toggle);
    expect({ chosen: chosen(moved), focus: moved.focus }).toEqual({ chosen: 'bcd', focus: 'e' });
  });

  test('rows that are not loaded are not selected', () => {
    const long = withPage(EMPTY_WINDOW, 0, { total: 900, revision: 1, gids: ['a', 'b'] });
    const a = choose(NO_SELECTION, long, 'a', plain);
    expect(step(a, long, 900, plain).focus).toBe('b');
  });
});

test('a download that has gone is neither selected nor a target', () => {
  const some = { gids: new Set(['a', 'b']), anchor: 'a', focus: 'b' };
  const left = without(some, ['b']);
  expect({ chosen: chosen(left), focus: left.focus }).toEqual({ chosen: 'a', focus: undefined });
  expect(without(some, ['x'])).toBe(some);
  expect(targets(left)).toEqual(['a']);
  expect(targets({ gids: new Set(), focus: 'c' })).toEqual(['c']);
});

test('after a removal, the next step leads to the row that has taken the place of the removed one', () => {
  const some = { gids: new Set(['b', 'd']), anchor: 'b', focus: 'd' };
  const left = without(some, ['b', 'd'], list);
  const rest = withPage(EMPTY_WINDOW, 0, { total: 4, revision: 2, gids: ['a', 'c', 'e', 'f'] });
  expect(step(left, rest, 1, plain).focus).toBe('e');
  expect(step(left, rest, -1, plain).focus).toBe('c');
  expect(step(left, rest, 2, plain).focus).toBe('f');
  // A step from there goes on as usual, and the end of the list is its end.
  expect(step(step(left, rest, 1, plain), rest, 1, plain).focus).toBe('f');
  const last = without({ gids: new Set(['f']), anchor: 'f', focus: 'f' }, ['f'], list);
  const five = withPage(EMPTY_WINDOW, 0, {
    total: 5,
    revision: 2,
    gids: ['a', 'b', 'c', 'd', 'e'],
  });
  expect(step(last, five, 1, plain).focus).toBe('e');
  expect(step(last, five, -1, plain).focus).toBe('e');
});

test('downloads that are not in the list are not selected any more', () => {
  const some: Selection = { gids: new Set(['a', 'b', 'c']), anchor: 'a', focus: 'c' };
  const left = within(some, new Set(['b', 'c', 'd']));
  expect(chosen(left)).toBe('bc');
  expect(left).toMatchObject({ anchor: undefined, focus: 'c' });
  expect(within(some, new Set(['a', 'b', 'c']))).toBe(some);
  expect(targets(within(some, new Set()))).toEqual([]);
});
