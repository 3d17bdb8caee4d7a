/**
 * Parameters of a URL's query that a rule ignores, because they name no other file: the file is kept,
 * purged and requested under the URL without them.
 *
 * Two files must never get one name. So a parameter goes only if every reading of it is one to
 * ignore: servers differ in separators, in letters' case, and in whether they decode names.
 */

/** Query parameters to ignore, by name. A name that ends with `*` stands for all that begin so. */
export type IgnoredQuery =
  | 'all'
  | { readonly names: readonly string[] }
  | { readonly allBut: readonly string[] };

/** A name of a parameter in a rule. */
export const PARAMETER_NAME = /^[\w.~:[\]-]{1,100}\*?$/;

/** Returns a canonical URL without the parameters to ignore; it stays canonical. */
export function withoutIgnored(url: URL, ignored: IgnoredQuery): URL {
  if (url.search === '' && !url.href.includes('?')) return url;
  const all = url.search.slice(1).split('&');
  const left = ignored === 'all' ? [] : all.filter((part) => !isIgnored(part, ignored));
  if (left.length === all.length && ignored !== 'all') return url;
  const bare = url.href.slice(0, url.href.indexOf('?'));
  return new URL(left.every((part) => part === '') ? bare : `${bare}?${left.join('&')}`);
}

/** @param part of the query between two `&`; some servers separate parameters by `;` as well */
function isIgnored(part: string, ignored: Exclude<IgnoredQuery, 'all'>): boolean {
  return part.split(';').every((parameter) => {
    const [name = ''] = parameter.split('=', 1);
    if ('names' in ignored) return name !== '' && isNamed(name, ignored.names);
    const read = reading(name);
    return read !== undefined && !isNamed(read, ignored.allBut.map(loose));
  });
}

function isNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** Returns a name as the most lenient servers read it; undefined if it cannot be decoded. */
function reading(name: string): string | undefined {
  try {
    return loose(decodeURIComponent(name.replaceAll('+', ' ')));
  } catch {
    return undefined;
  }
}

/** PHP reads `a.b`, `a b` and `a_b` as one name, and `a[0]` as an item of `a`. */
function loose(name: string): string {
  const isPattern = name.endsWith('*');
  const [bare = ''] = name.trimStart().toLowerCase().split('[', 1);
  const plain = bare.replace(/[. ]/g, '_');
  return isPattern && !plain.endsWith('*') ? `${plain}*` : plain;
}
