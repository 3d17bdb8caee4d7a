/** Checks the texts of an interface: a translation has the same texts and values as English. */

import type { Texts } from '../src/text/catalogue.ts';

/** Highest count that is tried: counts up to it show every plural form that an interface needs. */
const COUNTS = 1000;
const FORM = /^(.+)\.(zero|one|two|few|many|other)$/;

/** Returns the placeholders of a text, sorted. */
export function placeholdersOf(text: string): string[] {
  return [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string))].sort();
}

/** Returns the plural forms that a language has for counts, including `other`. */
export function pluralForms(language: string): Set<string> {
  const rules = new Intl.PluralRules(language);
  const forms = new Set<string>(['other']);
  for (let n = 0; n <= COUNTS; n++) forms.add(rules.select(n));
  return forms;
}

/**
 * Describes the faults of a translation in words; none if it is complete.
 *
 * @param language tag of the translation
 */
export function translationFaults(english: Texts, language: string, translated: Texts): string[] {
  const wanted = wantedTexts(english, language);
  const missing = [...wanted.keys()].filter((key) => !(translated[key]?.trim() ?? ''));
  const extra = Object.keys(translated).filter((key) => !wanted.has(key));
  const other = [...wanted].flatMap(([key, { names, all }]) => {
    const text = translated[key];
    if (text === undefined) return [];
    const found = placeholdersOf(text);
    const fits = all ? found.join() === names.join() : found.every((name) => names.includes(name));
    return fits ? [] : [`${key} has {${found.join('} {')}}, not {${names.join('} {')}}`];
  });
  return [
    ...missing.map((key) => `${key} is missing`),
    ...extra.map((key) => `${key} is unknown`),
    ...other,
  ];
}

/** A count before a noun in the plural, as in `{n} links`; limits are never one. */
const COUNTED =
  /(?<!at most |more than |first )\{(?:n|count|minutes|seconds|days|files|total)\}(?: more| other)? (?!is\b|was\b|has\b|as\b)[a-z]+s\b/i;

/** Returns the keys of English texts in which a count stands before a plural, but that have no form for one. */
export function countsWithoutForms(english: Texts): string[] {
  return Object.entries(english)
    .filter(([key, text]) => COUNTED.test(text) && pluralBase(english, key) === undefined)
    .map(([key]) => key);
}

interface Wanted {
  readonly names: readonly string[];
  /** True if the text must have every placeholder; some plural forms may leave out the number. */
  readonly all: boolean;
}

/** Returns the texts that a language needs: the texts of English, with its own plural forms. */
function wantedTexts(english: Texts, language: string): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  const forms = pluralForms(language);
  for (const [key, text] of Object.entries(english)) {
    const base = pluralBase(english, key);
    if (base === undefined) wanted.set(key, { names: placeholdersOf(text), all: true });
    else {
      const names = placeholdersOf(english[`${base}.other`] as string);
      for (const form of forms) wanted.set(`${base}.${form}`, { names, all: form === 'other' });
    }
  }
  return wanted;
}

/** Returns the key of a plural without its form; undefined for other texts. */
function pluralBase(english: Texts, key: string): string | undefined {
  const base = FORM.exec(key)?.[1];
  return base !== undefined && `${base}.one` in english && `${base}.other` in english
    ? base
    : undefined;
}
