/** Texts of an interface in one language, filled in, with numbers as usual there. */

import type { Language } from './language.ts';

type Texts = Readonly<Record<string, string>>;

/** Names between braces in a text. */
type Names<S extends string> = S extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;
type Values<S extends string> = [Names<S>] extends [never]
  ? []
  : [values: Readonly<Record<Names<S>, string | number>>];

/** Keys that come as `.one` and `.other`. */
type PluralKey<T> = BaseOf<keyof T, '.one'> & BaseOf<keyof T, '.other'>;
type BaseOf<K, End extends string> = K extends `${infer Base}${End}` ? Base : never;

/** @typeParam T the texts in the language that the others follow, as constants */
export class Catalogue<T extends Texts> {
  readonly language: Language;
  /** For numbers and dates: the language as it is used in the reader's country. */
  readonly locale: string;
  readonly #texts: Readonly<Record<keyof T, string>>;
  readonly #numbers = new Map<number, Intl.NumberFormat>();
  readonly #dates = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();
  #relative: Intl.RelativeTimeFormat | undefined;

  constructor(language: Language, texts: Readonly<Record<keyof T, string>>, locale: string) {
    this.language = language;
    this.locale = locale;
    this.#texts = texts;
  }

  /** A text, filled in. */
  t<K extends keyof T>(key: K, ...[values]: Values<T[K]>): string {
    return fill(this.#texts[key], values ?? {});
  }

  /** A text that depends on a number, `{n}` in it. */
  n(key: PluralKey<T>, n: number, values: Readonly<Record<string, string | number>> = {}): string {
    const form = n === 1 ? 'one' : 'other';
    return fill(this.#texts[`${key}.${form}`], { ...values, n: this.number(n) });
  }

  /** @param digits after the decimal point, at most */
  number(value: number, digits = 0): string {
    let format = this.#numbers.get(digits);
    if (format === undefined) {
      format = new Intl.NumberFormat(this.locale, { maximumFractionDigits: digits });
      this.#numbers.set(digits, format);
    }
    return format.format(value);
  }

  /**
   * A moment in a style. Formatters are kept, because making one costs more than drawing a row.
   *
   * @param at Unix milliseconds
   * @param style a constant: formatters are found by its identity
   */
  date(at: number, style: Readonly<Intl.DateTimeFormatOptions>): string {
    let format = this.#dates.get(style);
    if (format === undefined) {
      format = new Intl.DateTimeFormat(this.locale, style);
      this.#dates.set(style, format);
    }
    return format.format(at);
  }

  /** An age in minutes, in words. */
  minutesAgo(minutes: number): string {
    this.#relative ??= new Intl.RelativeTimeFormat(this.locale, { numeric: 'always' });
    return this.#relative.format(-minutes, 'minute');
  }
}

/** Puts values where their names are between braces. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
