/**
 * Lists the ways in which an origin may read a path. Servers differ in how often they decode a
 * path, whether an encoded slash counts as a slash, and how they treat `//`, `;` and backslashes.
 * A rule about a part of an origin must hold for all readings (RFC 3986 7.3).
 */

/** Most times that a path is decoded; a path that changes even then is meant to deceive. */
const MAX_ROUNDS = 4;
/** Overlong encodings of slash, backslash and dot, which old servers accept. */
const OVERLONG: readonly (readonly [RegExp, string])[] = [
  [/%c0%af/gi, '/'],
  [/%c1%9c/gi, '\\'],
  [/%c0%ae/gi, '.'],
];

/**
 * Readings of `;` and the text after it in a segment: part of the name, so that `..;` is a name;
 * ignored in dot segments only; ignored everywhere.
 */
const PARAMETERS = ['name', 'dots', 'nothing'] as const;

/**
 * Returns the readings of a path, including the path itself.
 *
 * @param pathname of a canonical URL, with its first slash
 * @returns undefined if the path is encoded too many times to judge
 */
export function pathReadings(pathname: string): readonly string[] | undefined {
  if (!/%|;|\\|\/\//.test(pathname)) return [pathname];
  const readings = new Set([pathname]);
  let text = pathname;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const segments = segmentsOf(text);
    for (const collapse of [false, true]) {
      for (const parameters of PARAMETERS) readings.add(resolve(segments, collapse, parameters));
    }
    const decoded = decode(text);
    if (decoded === text) return [...readings];
    text = decoded;
  }
  return undefined;
}

function decode(text: string): string {
  const short = OVERLONG.reduce((all, [long, char]) => all.replace(long, char), text);
  return short.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** A segment, and the part of it before `;`. */
interface Segment {
  readonly text: string;
  readonly bare: string;
}

function segmentsOf(path: string): Segment[] {
  const texts = path.replaceAll('\\', '/').split('/').slice(1);
  return texts.map((text) => {
    const end = text.indexOf(';');
    return { text, bare: end < 0 ? text : text.slice(0, end) };
  });
}

/**
 * Removes the dot segments.
 *
 * @param collapse true: read `//` as `/`
 * @param parameters treatment of `;` in a segment
 */
function resolve(
  segments: readonly Segment[],
  collapse: boolean,
  parameters: (typeof PARAMETERS)[number],
): string {
  const out: string[] = [];
  segments.forEach(({ text, bare }, index) => {
    const last = index === segments.length - 1;
    const name = parameters === 'name' ? text : bare;
    if (name === '.' || name === '..') {
      if (name === '..') out.pop();
      if (last) out.push('');
    } else if (text !== '' || !collapse || last) {
      out.push(parameters === 'nothing' ? bare : text);
    }
  });
  return `/${out.join('/')}`;
}
