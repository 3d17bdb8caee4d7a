/**
 * Joins modules of a page into one script. A page that is shown at any edge, behind any prefix, can
 * load nothing from an address of its own, so its script is a part of it.
 */

import { readFile } from 'node:fs/promises';

/** An import as our pages write it: names in braces, of a file beside the importing one. */
const IMPORT = /^import \{([^}]*)\} from '(\.{1,2}\/[\w./-]+\.js)';\n/gm;
const EXPORT = /^export (?=(?:async )?(?:function\*?|const|class) )/gm;

/**
 * Joins a module and all that it imports, each once, imported ones first. Top-level names of all
 * modules must differ: browsers refuse the script otherwise.
 *
 * @param read reads a file; for tests
 * @throws Error if a module uses a form of import or export that cannot be joined
 */
export async function joinModules(
  entry: URL,
  read: (url: URL) => Promise<string> = (url) => readFile(url, 'utf8'),
): Promise<string> {
  const seen = new Set<string>();
  const texts: string[] = [];
  const add = async (url: URL): Promise<void> => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    const text = await read(url);
    const imports = [...text.matchAll(IMPORT)];
    for (const [, , path] of imports) await add(new URL(path as string, url));
    const aliases = imports.flatMap(([, names = '']) => aliasesIn(names));
    const body = text.replace(IMPORT, '').replace(EXPORT, '');
    const left = /^(?:import|export)\b.*/m.exec(body)?.[0];
    if (left !== undefined) throw new Error(`${url.pathname} cannot be joined: ${left}`);
    // A script ends at this tag, wherever it is.
    if (/<\/script|<!--/i.test(body)) throw new Error(`${url.pathname} would end its script`);
    texts.push(...aliases, withoutComments(body));
  };
  await add(entry);
  return texts.join('\n');
}

/** Writes the other names under which a module imports things. */
function aliasesIn(names: string): string[] {
  return names.split(',').flatMap((name) => {
    const [, own, other] = /^\s*(\w+) as (\w+)\s*$/.exec(name) ?? [];
    return own === undefined ? [] : [`const ${other} = ${own};`];
  });
}

/** Leaves out comments that have lines of their own, which browsers need not be sent. */
function withoutComments(text: string): string {
  return text
    .replace(/^[ \t]*\/\*\*(?:[^*]|\*(?!\/))*\*\/[ \t]*\n/gm, '')
    .replace(/^[ \t]*\/\/.*\n/gm, '')
    .replace(/\n{2,}/g, '\n');
}
