/** Lines at the bottom of a terminal that are redrawn in place. */

import { stripVTControlCharacters } from 'node:util';
import { cutEnd, displayWidth } from './display.ts';

const DEFAULT_ROWS = 24;
const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

type Screen = NodeJS.WritableStream & { readonly columns?: number; readonly rows?: number };

export class LiveArea {
  readonly #out: Screen;
  #drawn = 0;

  constructor(out: Screen) {
    this.#out = out;
  }

  /** Returns the number of lines that fit: lines that have scrolled away cannot be redrawn. */
  get rows(): number {
    return Math.max(1, (this.#out.rows || DEFAULT_ROWS) - 1);
  }

  /** Replaces the earlier lines in one write, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    const columns = this.#out.columns || 80;
    // A line that wraps would take two rows and shift all others.
    const fitting = lines
      .slice(0, this.rows)
      .map((line) =>
        displayWidth(line) < columns ? line : cutEnd(stripVTControlCharacters(line), columns - 1),
      );
    const up = this.#drawn === 0 ? HIDE_CURSOR : `\r\x1b[${this.#drawn}A`;
    const text = fitting.map((line) => `${line}${CLEAR_LINE}\n`).join('');
    this.#out.write(`${up}${text}${CLEAR_BELOW}`);
    this.#drawn = fitting.length;
  }

  /** Leaves the drawn lines where they are, and shows the cursor again. */
  leave(): void {
    if (this.#drawn > 0) this.#out.write(SHOW_CURSOR);
    this.#drawn = 0;
  }
}
