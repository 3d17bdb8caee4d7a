/**
 * Cuts command lines into words, as the shells do for which browsers write "Copy as cURL": POSIX
 * shells and bash, cmd with the rules of the C runtime, and PowerShell. Nothing is run or expanded: a
 * command that needs its shell is refused.
 */

import { TextFault } from '../request/text-fault.ts';

/** Longest text that is read as command lines, in characters. */
export const MAX_COMMAND_CHARS = 256 * 1024;
/** Most words of one text. */
const MAX_WORDS = 4096;

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  v: '\v',
};
const NEEDS_SHELL = /[|<>()]/;
/** The first quote of a text tells its shell. Only cmd ends a line with a caret after a quote. */
const POWERSHELL = /^\s*curl\.exe\s[^'"]*'|^[^'"]*(?:'[^']*'|"[^"]*")?\s`\r?\n/i;
const CMD = /^[^'"]*(?:\^"|"[^"]*"\s+\^\r?\n)/;

/**
 * Returns the words of each command of a text. Commands end at line breaks, `;` and `&`.
 *
 * @throws TextFault for open quotes, for what only a shell can do, and for long texts
 */
export function shellCommands(text: string): string[][] {
  if (text.length > MAX_COMMAND_CHARS) throw new TextFault('command-too-long');
  const words = POWERSHELL.test(text)
    ? new Words(text, powershellQuotes)
    : CMD.test(text)
      ? new Words(text, cmdQuotes)
      : new Words(text, posixQuotes);
  return words.read();
}

/**
 * Reads what is quoted or escaped at a place.
 *
 * @returns the text meant, and the place after it; undefined if nothing is quoted there
 */
type Quotes = (
  text: string,
  at: number,
) => { readonly meant: string; readonly end: number } | undefined;

class Words {
  readonly #text: string;
  readonly #quotes: Quotes;
  readonly #commands: string[][] = [[]];
  #word: string | undefined;
  #count = 0;

  constructor(text: string, quotes: Quotes) {
    this.#text = text;
    this.#quotes = quotes;
  }

  read(): string[][] {
    for (let at = 0; at < this.#text.length; ) {
      const quoted = this.#quotes(this.#text, at);
      if (quoted === undefined) {
        this.#plain(at++);
        continue;
      }
      // An escaped line break alone is no word.
      if (quoted.meant !== '' || /["']/.test(this.#text.slice(at, quoted.end))) {
        this.#word = (this.#word ?? '') + quoted.meant;
      }
      at = quoted.end;
    }
    this.#endWord();
    return this.#commands.filter((words) => words.length > 0);
  }

  #plain(at: number): void {
    const char = this.#text[at] as string;
    if (char === ' ' || char === '\t' || char === '\r') this.#endWord();
    else if (char === '\n' || char === ';' || (char === '&' && this.#endsAt(at + 1))) {
      this.#endWord();
      this.#commands.push([]);
    } else if (NEEDS_SHELL.test(char)) {
      throw new TextFault('needs-shell', { char });
    } else this.#word = (this.#word ?? '') + char;
  }

  /** Returns true if a word cannot go on: an `&` inside an unquoted URL was meant as part of it. */
  #endsAt(at: number): boolean {
    return at >= this.#text.length || /[\s&]/.test(this.#text[at] as string);
  }

  #endWord(): void {
    if (this.#word === undefined) return;
    if (++this.#count > MAX_WORDS) throw new TextFault('too-many-words');
    this.#commands.at(-1)?.push(this.#word);
    this.#word = undefined;
  }
}

/** Quotes of POSIX shells (XCU 2.2), and the `$'…'` of bash and zsh. */
const posixQuotes: Quotes = (text, at) => {
  const char = text[at];
  if (char === "'") {
    const end = text.indexOf("'", at + 1);
    if (end === -1) throw openQuote();
    return { meant: text.slice(at + 1, end), end: end + 1 };
  }
  if (char === '\\') {
    const next = text.startsWith('\r\n', at + 1) ? '\r\n' : (text[at + 1] ?? '');
    return { meant: /^\r?\n$/.test(next) ? '' : next, end: at + 1 + next.length };
  }
  if (char === '$' && text[at + 1] === "'") return ansiQuote(text, at + 2);
  if (char === '"') return doubleQuote(text, at + 1);
  if (char === '`' || (char === '$' && /[\w{(]/.test(text[at + 1] ?? ''))) throw variable();
  return undefined;
};

function doubleQuote(text: string, from: number) {
  let meant = '';
  for (let at = from; at < text.length; at++) {
    const char = text[at] as string;
    if (char === '"') return { meant, end: at + 1 };
    if (char === '`' || (char === '$' && /[\w{(]/.test(text[at + 1] ?? ''))) throw variable();
    const next = text[at + 1] ?? '';
    if (char !== '\\' || !/[$`"\\\n]/.test(next)) meant += char;
    else {
      if (next !== '\n') meant += next;
      at++;
    }
  }
  throw openQuote();
}

const ANSI = /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|U([0-9a-f]{1,8})|([0-7]{1,3})|([\s\S]))|'/giy;

function ansiQuote(text: string, from: number) {
  let meant = '';
  for (let at = from; at < text.length; ) {
    ANSI.lastIndex = at;
    const match = ANSI.exec(text);
    if (match === null) {
      meant += text[at++];
      continue;
    }
    const [all, x, u, long, octal, char] = match;
    at += all.length;
    if (all === "'") return { meant, end: at };
    const hex = x ?? u ?? long;
    const point = hex === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(hex, 16);
    if (point > 0x10ffff) throw new TextFault('no-such-character');
    meant += char === undefined ? String.fromCodePoint(point) : (ESCAPES[char] ?? char);
  }
  throw openQuote();
}

/**
 * Quotes of cmd: a caret escapes the next character outside of quotes. What is left is quoted by the
 * rules of the C runtime, where `\"` and, inside of quotes, `""` are a quote.
 */
const cmdQuotes: Quotes = (text, at) => {
  const first = caret(text, at);
  if (first.char !== '"') {
    if (first.char === '\\' && caret(text, first.end).char === '"') {
      return { meant: '"', end: caret(text, first.end).end };
    }
    return first.end === at + 1 ? undefined : { meant: first.char, end: first.end };
  }
  // A quote with a caret does not begin a quote of cmd's own, so carets go on escaping.
  const escaped = first.end > at + 1;
  const read = (place: number) =>
    escaped ? caret(text, place) : { char: text[place] ?? '', end: place + 1 };
  let meant = '';
  for (let place = first.end; place < text.length; ) {
    const { char, end } = read(place);
    const next = read(end);
    if (char === '"' && next.char !== '"') return { meant, end };
    const isPair = (char === '\\' && /[\\"]/.test(next.char)) || char === '"';
    meant += isPair ? next.char : char;
    place = isPair ? next.end : end;
  }
  throw openQuote();
};

/** Returns the character at a place, after a caret if there is one; '' for an escaped line break. */
function caret(text: string, at: number): { readonly char: string; readonly end: number } {
  if (text[at] !== '^') return { char: text[at] ?? '', end: at + 1 };
  const lines = /\^(?:\r\n|\n)(\r\n|\n)?/y;
  lines.lastIndex = at;
  const broken = lines.exec(text);
  if (broken === null) return { char: text[at + 1] ?? '', end: at + 2 };
  // After an escaped line break, cmd takes a second one literally.
  return { char: broken[1] === undefined ? '' : '\n', end: at + broken[0].length };
}

/** Quotes of PowerShell: a doubled quote is one, and a backtick escapes outside of `'…'`. */
const powershellQuotes: Quotes = (text, at) => {
  const quote = text[at];
  if (quote === '`') {
    const next = text.startsWith('\r\n', at + 1) ? '\r\n' : (text[at + 1] ?? '');
    return { meant: /^\r?\n$/.test(next) ? '' : next, end: at + 1 + next.length };
  }
  if (quote === '$') throw variable();
  if (quote !== "'" && quote !== '"') return undefined;
  let meant = '';
  for (let place = at + 1; place < text.length; place++) {
    const char = text[place] as string;
    const next = text[place + 1] ?? '';
    if (char === quote && next !== quote) return { meant, end: place + 1 };
    if (char === '$' && quote === '"') throw variable();
    const isPair = char === quote || (char === '`' && quote === '"');
    meant += isPair ? next : char;
    if (isPair) place++;
  }
  throw openQuote();
};

const openQuote = () => new TextFault('open-quote');
const variable = () => new TextFault('has-variable');
