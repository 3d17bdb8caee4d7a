/** Makes the snippets with which publishers share a prefixed link. */

export interface Snippet {
  /** Stable identifier. */
  readonly id: 'link' | 'markdown' | 'html' | 'wget' | 'curl' | 'aria2' | 'millrace' | 'metalink';
  /** Name shown to users. */
  readonly label: string;
  readonly text: string;
}

export interface SnippetLinks {
  /** URL of the file through the edge. */
  readonly prefixed: string;
  /** URL of the file's Metalink. */
  readonly metalink: string;
  /** The file's name, safe on every file system. */
  readonly name: string;
}

/** Makes snippets to copy, the most used first. Each is safe to paste where it belongs. */
export function linkSnippets({ prefixed, metalink, name }: SnippetLinks): Snippet[] {
  const [url, file] = [shellQuoted(prefixed), shellQuoted(name)];
  return [
    { id: 'link', label: 'Link', text: prefixed },
    { id: 'markdown', label: 'Markdown', text: `[${markdownText(name)}](<${prefixed}>)` },
    { id: 'html', label: 'HTML', text: `<a href="${htmlText(prefixed)}">${htmlText(name)}</a>` },
    { id: 'wget', label: 'wget', text: `wget -c -O ${file} ${url}` },
    { id: 'curl', label: 'curl', text: `curl -fL -C - -o ${file} ${url}` },
    { id: 'aria2', label: 'aria2', text: `aria2c -c -x 8 -s 8 -o ${file} ${url}` },
    { id: 'millrace', label: 'Millrace', text: `millrace get ${shellQuoted(metalink)}` },
    { id: 'metalink', label: 'Metalink', text: metalink },
  ];
}

/**
 * Writes the command with which the holder of an edge's secret makes a signed link.
 *
 * @param edge address of the edge
 */
export function signCommand(url: string, edge: string): string {
  const what = `${shellQuoted(url)} --secret-file secrets --expires 7d`;
  return `millrace edge sign ${what} --edge ${shellQuoted(edge)}`;
}

/** Quotes any text as a word of POSIX shells. */
export function shellQuoted(text: string): string {
  // A leading dash would make the name an option.
  const word = text.startsWith('-') ? `./${text}` : text;
  return /^[A-Za-z0-9_./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Escapes text for HTML, also for a quoted attribute. */
export function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

function markdownText(text: string): string {
  return text.replace(/[\\`*_{}[\]<>()#+!|~]/g, '\\$&');
}
