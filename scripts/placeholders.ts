/**
 * The placeholders of an interface's English texts as types: a text whose values are missing or
 * misspelt does not compile.
 */

/** @param texts in English, by their key */
export function placeholders(texts: Readonly<Record<string, string>>): string {
  const rows = Object.entries(texts).flatMap(([key, text]) => {
    const names = [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => `'${name}'`))];
    return names.length === 0 ? [] : [`  readonly '${key}': ${names.join(' | ')};`];
  });
  return `/** Placeholders of the English texts, by key. Made by \`npm run docs\`. */

export interface Placeholders {
${rows.join('\n')}
}
`;
}
