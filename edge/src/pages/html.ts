/** HTML written as templates: every value is escaped unless it is HTML itself. */

import { htmlText } from '@millrace/shared/http/urls/link-snippets';

/** Text that is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Part = Html | string | number | undefined | readonly Part[];

/**
 * Inserts values into HTML: `undefined` becomes nothing, lists are joined, everything but `Html` is
 * escaped.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] as string;
  parts.forEach((part, i) => {
    text += written(part) + (strings[i + 1] as string);
  });
  return new Html(text);
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(written).join('');
  return htmlText(String(part));
}
