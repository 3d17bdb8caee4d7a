/** Meanings of texts, so that a terminal can show them in colour. */

import { styleText } from 'node:util';

export type Meaning = 'good' | 'busy' | 'held' | 'bad' | 'quiet' | 'title' | 'plain';

/** Styles a text by its meaning; never changes the text's width. */
export type Style = (meaning: Meaning, text: string) => string;

const FORMATS = {
  good: 'green',
  busy: 'cyan',
  held: 'yellow',
  bad: 'red',
  quiet: 'dim',
  title: 'bold',
} as const;

/**
 * Returns a style that uses colours where the stream is a terminal that wants them (NO_COLOR,
 * FORCE_COLOR).
 */
export function styleFor(stream: NodeJS.WritableStream): Style {
  return (meaning, text) =>
    meaning === 'plain' ? text : styleText(FORMATS[meaning], text, { stream: stream as never });
}
