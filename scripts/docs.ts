/**
 * Generates the parts of documents that come from the programs: commands, options, errors, metrics
 * and methods of the daemon; also the types of the interfaces' texts. `npm run docs` writes them; a
 * test fails while they differ from the programs.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { buildProgram } from '../desktop/cli/program.ts';
import { type LimitSource, RESOURCES, type ResourceRow } from '../edge/src/admission/resources.ts';
import { edgeCommand } from '../edge/src/config/config.ts';
import { PRESETS, type Preset } from '../edge/src/policy/presets.ts';
import { ERRORS } from '../shared/src/base/errors.ts';
import { edgeMetrics, type MetricRow } from './edge-metrics.ts';
import { placeholders } from './placeholders.ts';
import { rpcMethods, rpcObjects } from './rpc-reference.ts';

type Part = () => string | Promise<string>;
/** A whole document, or parts of a document by name. */
type Generated = Part | Readonly<Record<string, Part>>;

/**
 * Documents with generated parts, by their path in the repository, with the function for each part.
 */
export const DOCUMENTS: Readonly<Record<string, Generated>> = {
  'desktop/README.md': {
    // No command runs, so the program needs no context.
    commands: async () => commands(await buildProgram({} as never)),
  },
  'desktop/RPC.md': { methods: rpcMethods, objects: rpcObjects },
  'edge/README.md': { admission, 'edge options': () => options(edgeCommand()) },
  'edge/PRESETS.md': { presets },
  'edge/METRICS.md': { metrics: async () => metrics(await edgeMetrics()) },
  'desktop/ui/src/text/placeholders.ts': () => placeholdersIn('desktop/ui/src/text/en.json'),
  'desktop/shell/text/placeholders.ts': () => placeholdersIn('desktop/shell/text/en.json'),
  'extension/src/text/placeholders.ts': () => placeholdersIn('extension/src/text/en.json'),
  'shared/README.md': { errors },
};

/** Returns the URL of a document. */
export function documentUrl(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/**
 * Returns a document with its generated parts up to date.
 *
 * @throws Error if a part has no place in it
 */
export async function generate(path: string, text: string): Promise<string> {
  const generated = DOCUMENTS[path] ?? {};
  if (typeof generated === 'function') return generated();
  let whole = text;
  for (const [name, make] of Object.entries(generated)) {
    whole = withPart(whole, name, await make());
  }
  return whole;
}

/** Makes a table of the presets of an edge, with a row for each host. */
function presets(): string {
  const rows = Object.entries<Preset>(PRESETS).flatMap(([name, { title, origins }]) =>
    origins.map(({ origin, ...rule }, index) => {
      const members = Object.entries(rule).map(([member, value]) =>
        value === true ? member : `${member} ${[value].flat().join(' ')}`,
      );
      const first = index === 0 ? `\`${name}\`: ${title}` : '';
      return `| ${first} | \`${origin}\` | ${members.join('; ').replaceAll('*', '\\*')} |`;
    }),
  );
  return ['| preset | host | rules |', '|---|---|---|', ...rows].join('\n');
}

function withPart(text: string, name: string, part: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no place for "${name}"`);
  return `${text.slice(0, from + begin.length)}\n${part}\n${text.slice(to)}`;
}

type Command = Awaited<ReturnType<typeof buildProgram>>;

/** The members of an option of commander that documents use. */
interface Described {
  readonly flags: string;
  readonly description: string;
  readonly defaultValue?: unknown;
  readonly defaultValueDescription?: string | undefined;
  readonly argChoices?: readonly string[] | undefined;
  readonly envVar?: string | undefined;
}

const HEAD = ['| option | |', '|---|---|'];
/** Commands that download; they share most of their options. */
const DOWNLOADING = ['get', 'stream', 'add'];
/** Option of almost all commands, which the document names only once. */
const EVERYWHERE = '--json';

/** Lists the commands, with their options in sections that can be folded out. */
function commands(program: Command): string {
  const all = program.commands
    .filter((command) => !command.name().startsWith('_'))
    .flatMap((command) => leaves(command));
  const rows = all.map(({ words, command }) => {
    const usage = `${words} ${command.registeredArguments.map(placeOf).join(' ')}`.trim();
    return `| \`${usage}\` | ${escapeCell(command.description())} |`;
  });
  const downloading = all.filter(({ words }) => DOWNLOADING.includes(words));
  const [first, ...others] = downloading.map(({ command }) => shownOptions(command).map(optionRow));
  const shared = (first ?? []).filter((row) => others.every((some) => some.includes(row)));
  const own = all.flatMap(({ words, command }) => {
    const left = shownOptions(command)
      .filter(({ long }) => long !== EVERYWHERE)
      .map(optionRow);
    return left.filter((row) => !shared.includes(row)).map((row) => `| \`${words}\` ${row}`);
  });
  return [
    ['| command | |', '|---|---|', ...rows].join('\n'),
    folded('Options of all downloads: of `get`, `stream` and `add`', [...HEAD, ...shared]),
    folded(
      `Further options; all commands but \`completion\` and \`edge start\` have \`${EVERYWHERE}\``,
      ['| command | option | |', '|---|---|---|', ...own],
    ),
  ].join('\n\n');
}

/** Returns the options that a command's help shows. */
function shownOptions(command: Command) {
  return command.options.filter(({ hidden }) => !hidden);
}

/** Returns the commands without subcommands, each with its full name. */
function leaves(command: Command): { words: string; command: Command }[] {
  const words = command.name();
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands
    .flatMap((sub) => leaves(sub as Command))
    .map((leaf) => ({ ...leaf, words: `${words} ${leaf.words}` }));
}

function placeOf(argument: {
  name(): string;
  readonly required: boolean;
  readonly variadic: boolean;
}): string {
  const name = argument.name().toUpperCase() + (argument.variadic ? '...' : '');
  return argument.required ? name : `[${name}]`;
}

function folded(summary: string, table: readonly string[]): string {
  const title = summary.replace(/`([^`]*)`/g, '<code>$1</code>');
  return `<details><summary>${title}</summary>\n\n${table.join('\n')}\n\n</details>`;
}

function options(command: { readonly options: readonly Described[] }): string {
  return [...HEAD, ...command.options.map(optionRow)].join('\n');
}

function optionRow(option: Described): string {
  const value = option.defaultValueDescription ?? option.defaultValue;
  const more = [
    ...(option.argChoices === undefined ? [] : [`${option.argChoices.join(', ')}`]),
    ...(value === undefined || value === false ? [] : [`default: ${value}`]),
    ...(option.envVar === undefined ? [] : [`environment: ${option.envVar}`]),
  ];
  const text = more.length === 0 ? '' : ` (${more.join('; ')})`;
  return `| \`${option.flags}\` | ${escapeCell(option.description + text)} |`;
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, retryable, exit, title }]) =>
      `| \`${code}\` | ${status} | ${exit} | ${retryable ? 'yes' : ''} | ${title} |`,
  );
  const head = '| code | HTTP status | exit status | try again | meaning |';
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}

/** Lists the resources that strangers can use up at an edge. */
function admission(): string {
  const limit = (source: LimitSource | undefined) => {
    if (source === undefined) return '';
    return 'option' in source ? `\`--${source.option}\`` : source.fixed;
  };
  const rows = Object.entries<ResourceRow>(RESOURCES).map(
    ([name, { what, perClient, forAll, full, codes }]) => {
      const answers = codes.map((code) => `\`${code}\``).join(', ');
      return `| \`${name}\` | ${what} | ${limit(perClient)} | ${limit(forAll)} | ${full} | ${answers} |`;
    },
  );
  const head =
    '| resource | what is counted | limit per client | limit for all | when there is no more | error |';
  return [head, '|---|---|---|---|---|---|', ...rows].join('\n');
}

/** Lists our own metrics: those that the library has for every process differ between systems. */
function metrics(rows: readonly MetricRow[]): string {
  const head = ['| metric | type | labels | meaning |', '|---|---|---|---|'];
  const row = ({ name, type, labels, help }: MetricRow) =>
    `| \`${name}\` | ${type} | ${labels.map((l) => `\`${l}\``).join(', ')} | ${escapeCell(help)} |`;
  const own = rows.filter(({ name }) => !/^millrace_(process|nodejs)_/.test(name));
  return [...head, ...own.map(row)].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*').replaceAll('<', '&lt;');
}

function placeholdersIn(catalogue: string): string {
  return placeholders(JSON.parse(readFileSync(documentUrl(catalogue), 'utf8')));
}

if (import.meta.main) {
  const paths = Object.keys(DOCUMENTS);
  const written: string[] = [];
  for (const path of paths) {
    const url = documentUrl(path);
    const before = readFileSync(url, 'utf8');
    const text = await generate(path, before);
    if (text === before) continue;
    writeFileSync(url, text);
    written.push(path);
  }
  console.log(
    written.length === 0
      ? `All ${paths.length} documents are as the programs are: nothing to write.`
      : `Written: ${written.join(', ')}`,
  );
}
