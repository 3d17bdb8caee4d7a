/**
 * Weighs values by their cost on V8's heap, in bytes, rounded up. Measured with Node 24 on 64-bit
 * machines; a test compares the figures with a real heap (edge/src/memory/weights.test.ts).
 */

/** Bytes of a string besides its characters: the header of a flat string, and rounding. */
const TEXT_BYTES = 24;
/** Bytes of a property of an object: its slot and the name's share of the object's shape. */
export const PROPERTY_BYTES = 16;
/** Bytes of an entry of a Map or LRU list besides key and value. Grown tables are half empty. */
export const ENTRY_BYTES = 160;
/** Bytes of a small object of up to a dozen numbers and references. */
export const OBJECT_BYTES = 120;

/** Weighs a string of one byte per character, such as a URL, header field or digest. */
export function textBytes(text: string | undefined): number {
  return text === undefined ? 0 : TEXT_BYTES + text.length;
}

/** Weighs a JSON value with everything in it; an object that occurs twice is counted once. */
export function valueBytes(value: unknown, counted = new Set<object>()): number {
  if (typeof value === 'string') return textBytes(value);
  if (typeof value !== 'object' || value === null || counted.has(value)) return 0;
  counted.add(value);
  let bytes = OBJECT_BYTES;
  for (const item of Object.values(value)) bytes += PROPERTY_BYTES + valueBytes(item, counted);
  return bytes;
}

/** Weighs a flat record of strings, such as header fields, including the names. */
export function fieldsBytes(
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): number {
  let bytes = OBJECT_BYTES;
  for (const name in fields) {
    const value = fields[name];
    bytes += PROPERTY_BYTES + textBytes(name);
    if (typeof value === 'string') bytes += textBytes(value);
    else for (const item of value ?? []) bytes += PROPERTY_BYTES + textBytes(item);
  }
  return bytes;
}
