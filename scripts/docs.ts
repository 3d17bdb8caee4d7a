/**
 * The parts of the README that the program says itself: options and errors. `node scripts/docs.ts`
 * writes them; a test fails while they are not as the program has them.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { getCommand } from '../desktop/cli/commands/get.ts';
import { edgeCommand } from '../edge/src/config.ts';
import { ERRORS } from '../shared/src/base/errors.ts';

export const README = new URL('../README.md', import.meta.url);

/** The README with its generated parts as they should be. */
export function generate(readme: string): string {
  const parts: Record<string, string> = {
    'get options': options(getCommand({} as never)),
    'edge options': options(edgeCommand()),
    errors: errors(),
  };
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
    const from = text.indexOf(begin) + begin.length;
    return `${text.slice(0, from)}\n${part}\n${text.slice(text.indexOf(end))}`;
  }, readme);
}

/** As much of a commander command as is written down. */
interface Described {
  readonly options: readonly {
    readonly flags: string;
    readonly description: string;
    readonly defaultValue?: unknown;
    readonly defaultValueDescription?: string | undefined;
  }[];
}

function options(command: Described): string {
  const rows = command.options.map((option) => {
    const value = option.defaultValueDescription ?? option.defaultValue;
    const text = value === undefined || value === false ? '' : ` (default: ${value})`;
    return `| \`${option.flags}\` | ${escapeCell(option.description + text)} |`;
  });
  return ['| option | |', '|---|---|', ...rows].join('\n');
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, retryable, exit, title }]) =>
      `| \`${code}\` | ${status} | ${exit} | ${retryable ? 'yes' : ''} | ${title} |`,
  );
  const head = '| code | HTTP status | exit status | try again | meaning |';
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*').replaceAll('<', '&lt;');
}

if (import.meta.main) writeFileSync(README, generate(readFileSync(README, 'utf8')));
