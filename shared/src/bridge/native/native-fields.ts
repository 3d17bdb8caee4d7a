/** Reads the fields of a message that a stranger could have sent, each with a limit. */

import { MillraceError } from '../../base/errors.ts';
import { isObject } from '../rpc/json-rpc.ts';

export interface TextRules {
  /** Characters. */
  readonly max: number;
  readonly min?: number;
  readonly pattern?: RegExp;
}

/** One object of a message. Every method throws MillraceError `bad-option` that names the field. */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #where: string;

  /** @param where path of the object in the message, for errors; empty: the message itself */
  constructor(value: unknown, where = '') {
    this.#where = where;
    if (!isObject(value))
      throw new MillraceError('bad-option', `${where || 'it'} is not an object`);
    this.#fields = value;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name) && this.#fields[name] !== undefined;
  }

  text(name: string, rules: TextRules): string {
    return checkText(this.#get(name), this.#path(name), rules);
  }

  optionalText(name: string, rules: TextRules): string | undefined {
    return this.has(name) ? this.text(name, rules) : undefined;
  }

  /** A whole number from `min` to `max`. */
  whole(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.#get(name);
    if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) {
      return value as number;
    }
    throw bad(this.#path(name), `is not a whole number from ${min} to ${max}`);
  }

  /** Any number that is not negative. */
  amount(name: string): number {
    const value = this.#get(name);
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
    throw bad(this.#path(name), 'is not an amount');
  }

  flag(name: string): boolean {
    const value = this.#get(name);
    if (typeof value === 'boolean') return value;
    throw bad(this.#path(name), 'is neither true nor false');
  }

  oneOf<T extends string>(name: string, words: readonly T[]): T {
    const word = words.find((one) => one === this.#get(name));
    if (word !== undefined) return word;
    throw bad(this.#path(name), `is not one of ${words.join(', ')}`);
  }

  list<T>(name: string, max: number, read: (item: unknown, where: string) => T): readonly T[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) throw bad(this.#path(name), 'is not a list');
    if (value.length > max) throw bad(this.#path(name), `has more than ${max} entries`);
    return value.map((item, i) => read(item, this.#path(`${name}.${i}`)));
  }

  /** An object of texts. */
  texts(
    name: string,
    limits: { readonly entries: number; readonly name: TextRules; readonly value: TextRules },
  ): Readonly<Record<string, string>> {
    const value = this.#get(name);
    const path = this.#path(name);
    if (!isObject(value)) throw bad(path, 'is not an object');
    const entries = Object.entries(value);
    if (entries.length > limits.entries) throw bad(path, `has more than ${limits.entries} entries`);
    return Object.fromEntries(
      entries.map(([key, text]) => [
        checkText(key, path, limits.name),
        checkText(text, `${path}.${key.slice(0, 40)}`, limits.value),
      ]),
    );
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  #path(name: string): string {
    return this.#where === '' ? name : `${this.#where}.${name}`;
  }
}

/** Checks that a value is a text that follows the rules. @throws MillraceError `bad-option` */
export function checkText(value: unknown, path: string, rules: TextRules): string {
  const { min = 0, max, pattern } = rules;
  if (typeof value !== 'string') throw bad(path, 'is not text');
  if (value.length < min || value.length > max)
    throw bad(path, `does not have ${min} to ${max} characters`);
  // The value may be secret, so the error does not show it.
  if (pattern !== undefined && !pattern.test(value)) throw bad(path, 'is malformed');
  return value;
}

function bad(path: string, what: string): MillraceError {
  return new MillraceError('bad-option', `${path} ${what}`);
}
