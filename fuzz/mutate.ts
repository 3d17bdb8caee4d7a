/**
 * Mutates valid inputs. A mutation is a list of edits of three numbers each, so that fast-check
 * minimises a failing case to the fewest and smallest edits of the simplest input.
 */

import fc from 'fast-check';
import { CHARACTERS, NUMBERS, VALUES, WORDS } from './tokens.ts';

/** An edit: its kind, place and value. Each number is taken modulo the number of choices. */
type Edit = readonly [kind: number, at: number, what: number];

/** Longest span that one edit removes, repeats or moves. */
const MAX_SPAN = 64;
/** Most copies of a token that one edit inserts. */
const MAX_COPIES = 300;

const EDITS = fc.array(fc.tuple(fc.nat(0xffff), fc.nat(0xffffff), fc.nat(0xffffffff)), {
  maxLength: 5,
  size: 'max',
});

/** True while `withoutEdits` draws unmutated seeds. */
let unedited = false;

/** Draws cases of an arbitrary without any mutation: they are valid if the seeds are. */
export function withoutEdits<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, seed: number): T[] {
  unedited = true;
  try {
    return fc.sample(arbitrary, { numRuns, seed });
  } finally {
    unedited = false;
  }
}

const wanted = (edits: readonly Edit[]) => (unedited ? [] : edits);

const pick = <T>(list: readonly T[], number: number): T => list[number % list.length] as T;

/** Mutates valid texts by up to a few edits. */
export function mutatedText(seeds: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat(seeds.length - 1), EDITS)
    .map(([seed, edits]) =>
      wanted(edits).reduce((text, edit) => editText(text, edit, seeds), seeds[seed] as string),
    );
}

/** Mutates valid bytes by up to a few edits. */
export function mutatedBytes(seeds: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  return fc.tuple(fc.nat(seeds.length - 1), EDITS).map(([seed, edits]) => {
    let bytes: Buffer = Buffer.from(seeds[seed] as Uint8Array);
    for (const edit of wanted(edits)) bytes = editBytes(bytes, edit, seeds);
    return bytes;
  });
}

/** Mutates valid plain data by replacing, removing, renaming and adding values. */
export function mutatedJson(seeds: readonly unknown[]): fc.Arbitrary<unknown> {
  const texts = seeds.map((seed) => JSON.stringify(seed));
  return fc.tuple(fc.nat(seeds.length - 1), EDITS).map(([seed, edits]) => {
    const holder: { value: unknown } = { value: JSON.parse(texts[seed] as string) };
    for (const edit of wanted(edits)) editJson(holder, edit);
    return holder.value;
  });
}

/** Mutates JSON texts: half of them as data, which stays valid JSON, half of them as text. */
export function mutatedJsonText(seeds: readonly unknown[]): fc.Arbitrary<string> {
  return fc.oneof(
    mutatedJson(seeds).map((value) => JSON.stringify(value)),
    mutatedText(seeds.map((seed) => JSON.stringify(seed))),
  );
}

function editText(text: string, [kind, at, what]: Edit, seeds: readonly string[]): string {
  const start = at % (text.length + 1);
  const span = 1 + (what % MAX_SPAN);
  const before = text.slice(0, start);
  const after = text.slice(start);
  switch (kind % 12) {
    case 0:
      return before + pick(CHARACTERS, what) + after;
    case 1:
      return before + pick(CHARACTERS, what) + after.slice(1);
    case 2:
      return before + pick(WORDS, what) + after;
    case 3:
      return before + after.slice(span);
    case 4:
      return before;
    case 5:
      return before + after.slice(0, span) + after;
    case 6: {
      const other = pick(seeds, what);
      return before + other.slice((at >>> 8) % (other.length + 1));
    }
    case 7:
      return replaceNumber(text, start, pick(NUMBERS, what));
    case 8:
      return (
        before + pick([...CHARACTERS, ...WORDS], what).repeat((what >>> 8) % MAX_COPIES) + after
      );
    case 9:
      return after + before;
    case 10:
      return repeatLine(text, start, what);
    default: {
      const code = text.charCodeAt(start) || 0;
      return before + String.fromCharCode(code ^ (1 << (what % 8))) + after.slice(1);
    }
  }
}

/** Replaces the next number in the text. */
function replaceNumber(text: string, start: number, number: string): string {
  const digits = /\d+/g;
  digits.lastIndex = start;
  const found = digits.exec(text);
  if (found === null) return text;
  return text.slice(0, found.index) + number + text.slice(found.index + found[0].length);
}

/** Inserts a copy of one line, or of one item of a list, in another place. */
function repeatLine(text: string, start: number, what: number): string {
  const separator = text.includes('\n') ? '\n' : ',';
  const lines = text.split(separator);
  lines.splice(what % (lines.length + 1), 0, lines[start % lines.length] as string);
  return lines.join(separator);
}

function editBytes(bytes: Buffer, [kind, at, what]: Edit, seeds: readonly Uint8Array[]): Buffer {
  const start = at % (bytes.length + 1);
  const span = 1 + (what % MAX_SPAN);
  const before = bytes.subarray(0, start);
  const after = bytes.subarray(start);
  switch (kind % 11) {
    case 0:
    case 1:
      return changed(bytes, start, (byte) => byte ^ (1 << (what % 8)));
    case 2:
      return changed(bytes, start, () => pick([0, 1, 0x0a, 0x22, 0x2f, 0x7f, 0x80, 0xff], what));
    case 3:
      return Buffer.concat([before, after.subarray(span)]);
    case 4:
      return Buffer.from(before);
    case 5:
      return Buffer.concat([before, after.subarray(0, span), after]);
    case 6: {
      const other = pick(seeds, what);
      return Buffer.concat([before, other.subarray((at >>> 8) % (other.length + 1))]);
    }
    case 7:
      return Buffer.concat([before, Buffer.from(pick(WORDS, what)), after]);
    case 8: {
      // Writes as headers do lengths: 32 bits, in either byte order, at an even offset.
      if (bytes.length < 4) return bytes;
      const copy = Buffer.from(bytes);
      const place = Math.min(start & ~1, bytes.length - 4);
      const number = pick([0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, what], what);
      if (kind % 2 === 0) copy.writeUInt32BE(number, place);
      else copy.writeUInt32LE(number, place);
      return copy;
    }
    case 9:
      return Buffer.concat([after, before]);
    default:
      return Buffer.concat([before, Buffer.alloc((what >>> 8) % MAX_COPIES, what), after]);
  }
}

function changed(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  const copy = Buffer.from(bytes);
  if (at < copy.length) copy[at] = change(copy[at] as number);
  return copy;
}

type Holder = Record<string, unknown> | unknown[];

/** Changes one value anywhere in the data. */
function editJson(
  root: { value: unknown } & Record<string, unknown>,
  [kind, at, what]: Edit,
): void {
  const places: [Holder, string][] = [];
  const collect = (holder: Holder) => {
    for (const [key, value] of Object.entries(holder)) {
      places.push([holder, key]);
      if (typeof value === 'object' && value !== null) collect(value as Holder);
    }
  };
  collect(root);
  const [holder, key] = pick(places, at);
  const slots = holder as Record<string, unknown>;
  const own = slots[key];
  const set = (name: string, value: unknown) =>
    Object.defineProperty(slots, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  switch (kind % 7) {
    case 0:
    case 1:
      set(key, structuredClone(pick(VALUES, what)));
      return;
    case 2:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else if (holder === root) set(key, null);
      else delete slots[key];
      return;
    case 3: {
      const [other, name] = pick(places, what);
      set(key, structuredClone((other as Record<string, unknown>)[name]));
      return;
    }
    case 4:
      if (Array.isArray(holder)) holder.splice(Number(key), 0, structuredClone(own));
      else set(pick(WORDS, what), own);
      return;
    case 5:
      if (typeof own === 'string') set(key, editText(own, [what, at >>> 4, what >>> 4], [own]));
      else if (typeof own === 'number') set(key, Number(pick(NUMBERS, what)));
      return;
    default: {
      let deep: unknown = own;
      for (let i = what % 40; i > 0; i--) deep = what % 2 === 0 ? [deep] : { a: deep };
      set(key, deep);
    }
  }
}
