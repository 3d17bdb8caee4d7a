/** Reads a web page: its base, its title, and its links with the text that follows each. */

import { Parser } from 'htmlparser2';

interface HtmlLink {
  /** Value of `href` as it is written. */
  readonly href: string;
  /** Text after the link, up to the next link or row. */
  readonly after: string;
  /** Bytes, where the page states them for programs (`data-size`, as Caddy writes it). */
  readonly bytes?: number;
}

export interface HtmlPage {
  /** Value of the first `<base href>`. */
  readonly base?: string;
  readonly title: string;
  readonly links: readonly HtmlLink[];
  /** True if the page has more links than were read. */
  readonly truncated: boolean;
}

/** Most links that are read, before any are left out: navigation, repeated ones, sort links. */
const MAX_READ = 50_000;
const MAX_TEXT_CHARS = 400;
const MAX_TITLE_CHARS = 1000;
/** Elements in which a row of a listing begins, so that later text is not about the last link. */
const ROWS: ReadonlySet<string> = new Set(['tr', 'li', 'hr', 'h1', 'h2', 'footer', 'tfoot']);

/** Reads a page as browsers would, whatever is wrong with it; scripts are text, and nothing runs. */
export function readHtml(html: string): HtmlPage {
  const links: { href: string; after: string; bytes?: number }[] = [];
  let base: string | undefined;
  let title = '';
  let inTitle = false;
  let inLink = false;
  let truncated = false;
  let row: { href: string; after: string; bytes?: number } | undefined;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'base') base ??= attributes.href;
      else if (name === 'title') inTitle = title === '';
      else if (ROWS.has(name)) row = undefined;
      else if ((name === 'a' || name === 'area') && attributes.href !== undefined) {
        inLink = name === 'a';
        row = { href: attributes.href.trim(), after: '' };
        if (links.length < MAX_READ) links.push(row);
        else truncated = true;
      }
      const stated = attributes['data-size'];
      if (row !== undefined && stated !== undefined && /^\d{1,15}$/.test(stated)) {
        row.bytes = Number(stated);
      }
      // Cells of a table are words of their own.
      if (row !== undefined && name === 'td') row.after += ' ';
    },
    ontext(text) {
      if (inTitle && title.length < MAX_TITLE_CHARS) title += text.slice(0, MAX_TITLE_CHARS);
      if (row !== undefined && !inLink && row.after.length < MAX_TEXT_CHARS) {
        row.after += text.slice(0, MAX_TEXT_CHARS);
      }
    },
    onclosetag(name) {
      if (name === 'title') inTitle = false;
      else if (name === 'a') inLink = false;
    },
  });
  parser.end(html);
  return { ...(base === undefined ? {} : { base }), title: title.trim(), links, truncated };
}
