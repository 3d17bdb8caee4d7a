/** The preview of an import, as lines of text. */

import { formatBytes } from '@millrace/shared/base/units';
import type {
  DelicateKind,
  ImportEntry,
  ImportPreview,
} from '@millrace/shared/bridge/rpc/adding-api';
import { counted } from '../text/counted.ts';
import { printable } from '../text/printable.ts';
import { type Column, table } from '../text/table.ts';

/** Most entries per folder, and most remarks of each kind, that are shown; the rest is counted. */
const MAX_SHOWN = 20;

const COLUMNS: readonly Column[] = [
  { title: 'Line', align: 'right', drop: 1 },
  { title: 'Name', cut: 'middle', min: 16 },
  { title: 'Size', align: 'right' },
  { title: 'From', cut: 'end', min: 12, drop: 2 },
];

const KINDS: Readonly<Record<DelicateKind, string>> = {
  folder: 'folder outside the download folder',
  name: 'name that leads out of its folder',
  overwrite: 'replacing files that are there',
  'cookie-file': 'cookies from',
  netrc: 'log-ins from your netrc file',
  proxy: 'proxy',
  headers: 'header fields',
  edges: 'edges',
  place: 'place of a finished file',
  other: 'option',
};

/**
 * Returns the lines of the preview.
 *
 * @param trusted true where delicate settings are used
 * @param width columns of the terminal; undefined: no limit
 */
export function importLines(
  { entries, skipped }: ImportPreview,
  trusted: boolean,
  width: number | undefined,
): string[] {
  const lines: string[] = [];
  for (const [dir, inside] of byFolder(entries)) {
    lines.push(`${printable(dir)}: ${counted(inside.length, 'download')}`);
    const rows = inside.slice(0, MAX_SHOWN).map(({ line, name, length, url }) => {
      const size = length === undefined ? '' : formatBytes(length);
      return [String(line), printable(name), size, new URL(url).host];
    });
    lines.push(...table(COLUMNS, rows, width).map((text) => `  ${text}`));
    lines.push(...more(inside.length));
  }
  const delicate = entries.flatMap(({ line, delicate: parts }) =>
    parts.map(({ what, value }) => `line ${line}: ${KINDS[what]} ${printable(value)}`.trimEnd()),
  );
  const title = trusted ? 'Taken because the list is trusted' : 'Left out; --trusted takes it';
  lines.push(...section(title, delicate));
  lines.push(
    ...section(
      'Not added',
      skipped.map(({ line, reason }) => `line ${line}: ${printable(reason)}`),
    ),
  );
  return lines;
}

function byFolder(entries: readonly ImportEntry[]): Map<string, ImportEntry[]> {
  const folders = new Map<string, ImportEntry[]>();
  for (const entry of entries) {
    const inside = folders.get(entry.dir);
    if (inside === undefined) folders.set(entry.dir, [entry]);
    else inside.push(entry);
  }
  return folders;
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [
    `${title}:`,
    ...lines.slice(0, MAX_SHOWN).map((line) => `  ${line}`),
    ...more(lines.length),
  ];
}

function more(count: number): string[] {
  return count > MAX_SHOWN ? [`  and ${count - MAX_SHOWN} more`] : [];
}
