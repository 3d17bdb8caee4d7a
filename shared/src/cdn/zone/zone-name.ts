/** Names of a zone: reading those of options, and finding names in the zone's tree. */

import { MillraceError } from '../../base/errors.ts';

/** Longest name in its wire form, bytes (RFC 1035 2.3.4). */
const MAX_NAME_BYTES = 255;
/** A label of a host name (RFC 1123 2.1), and the underscore of service names. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Labels of a name, lower case, the root's left out. */
export type Labels = readonly string[];

/**
 * Reads a domain name, with or without a dot at its end.
 *
 * @throws MillraceError `bad-option`
 */
export function parseName(text: string): Labels {
  const labels = text.trim().toLowerCase().replace(/\.$/, '').split('.');
  const bytes = labels.reduce((sum, label) => sum + label.length + 1, 1);
  if (bytes <= MAX_NAME_BYTES && labels.every((label) => LABEL.test(label))) return labels;
  throw new MillraceError('bad-option', `"${text}" is not a domain name such as cdn.example.net`);
}

/**
 * Returns the labels of a name that come before those of the zone: none for the zone itself;
 * undefined for names outside the zone.
 */
export function labelsBelow(zone: Labels, name: Labels): Labels | undefined {
  const below = name.length - zone.length;
  if (below < 0 || zone.some((label, i) => name[below + i] !== label)) return undefined;
  return name.slice(0, below);
}
