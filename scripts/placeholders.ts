/**
 * Generates types for the placeholders of an interface's English texts, so that code with missing
 * or misspelt values does not compile.
 */

/** Returns the text of a module with the types. @param texts English texts, by key */
export function placeholders(texts: Readonly<Record<string, string>>): string {
  const rows = Object.entries(texts).flatMap(([key, text]) => {
    const names = [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => `'${name}'`))];
    const member = /^\w+$/.test(key) ? key : `'${key}'`;
    return names.length === 0 ? [] : [`  readonly ${member}: ${names.join(' | ')};`];
  });
  return `/** Placeholders of the English texts, by key. Made by \`npm run docs\`. */

export interface Placeholders {
${rows.join('\n')}
}
`;
}
