/**
 * Texts of an interface in one language, filled in, with numbers as usual there. The texts themselves
 * are JSON files, one per language: translators need no other file.
 */

import { LANGUAGE_FACTS, type Language } from './language.ts';

/** Texts by their key; placeholders stand between braces. */
export type Texts<Key extends string = string> = Readonly<Record<Key, string>>;

type Value = string | number;
/** Values for the placeholders of a text; `Names` has the placeholders of all texts that have some. */
type Values<Names, Key> = Key extends keyof Names
  ? [values: Readonly<Record<Names[Key] & string, Value>>]
  : [];

/** Keys of texts that depend on a number: those with a form `.one` and a form `.other`. */
type PluralKey<Key> = BaseOf<Key, 'one'> & BaseOf<Key, 'other'>;
type BaseOf<Key, Form extends string> = Key extends `${infer Base}.${Form}` ? Base : never;
/** Values for a text that depends on a number, beside the number itself. */
type PluralValues<Names, Key extends string> = `${Key}.other` extends keyof Names
  ? [Exclude<Names[`${Key}.other`], 'n'>] extends [never]
    ? []
    : [values: Readonly<Record<Exclude<Names[`${Key}.other`], 'n'> & string, Value>>]
  : [];

/**
 * @typeParam Key keys of the texts
 * @typeParam Names placeholders of the texts that have some, by key
 */
export class Catalogue<Key extends string, Names> {
  readonly language: Language;
  /** In which its lines are read. */
  readonly direction: 'ltr' | 'rtl';
  /** For numbers and dates: the language as it is used in the reader's country. */
  readonly locale: string;
  readonly #texts: Texts;
  readonly #plurals: Intl.PluralRules;
  readonly #numbers = new Map<number, Intl.NumberFormat>();
  readonly #dates = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();
  #percent: Intl.NumberFormat | undefined;
  #relative: Intl.RelativeTimeFormat | undefined;

  constructor(language: Language, texts: Texts<Key>, locale: string) {
    this.language = language;
    this.direction = LANGUAGE_FACTS[language].direction;
    this.locale = locale;
    this.#texts = texts;
    this.#plurals = new Intl.PluralRules(locale);
  }

  /** A text, filled in. */
  t<K extends Key>(key: K, ...[values]: Values<Names, K>): string {
    return fill(this.#texts[key] ?? key, values ?? {});
  }

  /** A text in the form that its language has for a number, `{n}` in it. */
  n<K extends PluralKey<Key>>(key: K, n: number, ...[values]: PluralValues<Names, K>): string {
    const form = this.#texts[`${key}.${this.#plurals.select(n)}`] ?? this.#texts[`${key}.other`];
    return fill(form ?? key, { ...values, n: this.number(n) });
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

  /** @param share from 0 to 1 */
  percent(share: number): string {
    this.#percent ??= new Intl.NumberFormat(this.locale, { style: 'percent' });
    return this.#percent.format(share);
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
export function fill(text: string, values: Readonly<Record<string, Value>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
