/** Filters of the history of downloads, and the SQL that finds what they ask for. */

import type { SQLInputValue } from 'node:sqlite';
import { searchedWords } from './download-row.ts';
import type { FinishedState } from './record.ts';

/** Fewest characters of a word that the index can find. */
const INDEXED_CHARS = 3;

/** Values of the parameters of a statement, by name. */
export type Values = Record<string, SQLInputValue>;

export interface HistoryFilter {
  readonly states?: readonly FinishedState[] | undefined;
  readonly category?: string | undefined;
  readonly host?: string | undefined;
  /** Words that must all occur, anywhere in name, URLs, category or error. */
  readonly text?: string | undefined;
}

/** Returns the conditions of a `WHERE`, all of which must hold, and the values of their parameters. */
export function conditionsOf(filter: HistoryFilter): { parts: string[]; values: Values } {
  const parts = ['finished_at IS NOT NULL'];
  const values: Values = {};
  if (filter.states !== undefined) {
    const names = filter.states.map((state, i) => {
      values[`state${i}`] = state;
      return `:state${i}`;
    });
    parts.push(`state IN (${names.join()})`);
  }
  if (filter.category !== undefined) {
    parts.push('category = :category');
    values.category = filter.category;
  }
  if (filter.host !== undefined) {
    parts.push('host = :host');
    values.host = filter.host;
  }
  const words = searchedWords(filter.text ?? '');
  const indexed = words.filter((word) => [...word].length >= INDEXED_CHARS);
  if (indexed.length > 0) {
    parts.push('id IN (SELECT rowid FROM search WHERE search MATCH :match)');
    values.match = indexed.map((word) => `"${word.replaceAll('"', '""')}"`).join(' AND ');
  }
  for (const [i, word] of words.filter((w) => !indexed.includes(w)).entries()) {
    parts.push(`instr(text, :word${i}) > 0`);
    values[`word${i}`] = word;
  }
  return { parts, values };
}
