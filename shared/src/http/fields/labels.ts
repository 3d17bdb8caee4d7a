/**
 * Labels by which an origin groups its files, so that all files of a group can be purged at once:
 * `Surrogate-Key` (words) and `Cache-Tag` (a list).
 */

import { type Headers, listField } from './headers.ts';

const WORDS = 'surrogate-key';
const LIST = 'cache-tag';

/** Fields with labels, which are for caches. */
export const LABEL_FIELDS: readonly string[] = [WORDS, LIST];

/** Most labels of one file. */
export const MAX_LABELS = 128;
/** Stands for every label: its file is purged with any of them. */
export const ANY_LABEL = '*';

const LABEL = /^[\x21-\x2b\x2d-\x7e]{1,128}$/;

/**
 * Reads the labels of a file, in lower case. A file with too many of them has `ANY_LABEL`: it is
 * purged once too often rather than kept.
 */
export function readLabels(fields: Headers): readonly string[] {
  const words =
    listField(fields, WORDS)
      ?.split(/\s+/)
      .map((word) => word.replace(/,$/, '')) ?? [];
  const listed = listField(fields, LIST)?.split(',') ?? [];
  const labels = new Set<string>();
  for (const text of [...words, ...listed]) {
    const label = text.trim().toLowerCase();
    if (label === '') continue;
    if (!LABEL.test(label) || labels.size === MAX_LABELS) return [ANY_LABEL];
    labels.add(label);
  }
  return [...labels];
}

/** Returns a label in its canonical form; undefined for another text. */
export function asLabel(text: string): string | undefined {
  const label = text.trim().toLowerCase();
  return LABEL.test(label) && label !== ANY_LABEL ? label : undefined;
}
