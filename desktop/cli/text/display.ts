/** Text on a terminal: how wide it is, and how to cut it. */

import { createRequire } from 'node:module';

type StringWidth = typeof import('string-width').default;

let stringWidth: StringWidth | undefined;

/** Returns the columns that a text takes; wide characters (CJK, emoji) take two. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  // The library is loaded only here: making its expressions takes 17 ms of processor time.
  stringWidth ??= (createRequire(import.meta.url)('string-width') as { default: StringWidth })
    .default;
  return stringWidth(text);
}

/** Pads with spaces to a width; a text that is wider stays as it is. */
export function pad(text: string, width: number, align: 'left' | 'right'): string {
  const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'left' ? text + spaces : spaces + text;
}

/** Cuts the end of a text that is wider than `width` columns, with an ellipsis in its place. */
export function cutEnd(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width <= 0) return '';
  return `${firstColumns(text, width - 1)}…`;
}

/** Cuts out the middle: the beginning and the extension of a file name tell most about it. */
export function cutMiddle(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width <= 0) return '';
  const tail = Math.min(Math.floor((width - 1) / 2), 12);
  const end = [...firstColumns([...graphemes(text)].reverse(), tail)].join('');
  return `${firstColumns(text, width - 1 - tail)}…${[...graphemes(end)].reverse().join('')}`;
}

let segmenter: Intl.Segmenter | undefined;

function graphemes(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Returns as many whole characters as fit into `width` columns. */
function firstColumns(text: string | readonly string[], width: number): string {
  let taken = '';
  let room = width;
  for (const character of typeof text === 'string' ? graphemes(text) : text) {
    room -= displayWidth(character);
    if (room < 0) break;
    taken += character;
  }
  return taken;
}
