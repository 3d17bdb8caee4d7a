/** A line at the bottom of a terminal that is drawn again and again; other lines go above it. */

import { cutEnd } from './display.ts';
import { printable } from './printable.ts';

const CLEAR = '\r\x1b[K';
const DEFAULT_COLUMNS = 80;

type Screen = Pick<NodeJS.WritableStream, 'write'> & { readonly columns?: number };

export class MovingLine {
  readonly #out: Screen;
  /** False where nothing can be drawn again: lines only follow each other. */
  readonly isMoving: boolean;

  constructor(out: Screen, isMoving: boolean) {
    this.#out = out;
    this.isMoving = isMoving;
  }

  /** Width of the terminal. */
  get columns(): number {
    return this.#out.columns || DEFAULT_COLUMNS;
  }

  /** Replaces the line. A longer one is cut: once wrapped, it could not be drawn again. */
  draw(text: string): void {
    if (this.isMoving) this.#out.write(CLEAR + cutEnd(text, this.columns - 1));
  }

  /** Prints a line that stays, above the moving one. */
  say(text: string): void {
    this.clear();
    this.#out.write(`${printable(text)}\n`);
  }

  clear(): void {
    if (this.isMoving) this.#out.write(CLEAR);
  }
}
