/** Draws bars with their ranges as a picture, without a library, for light and dark pages. */

import type { Bar, BarChart } from './chart.ts';
import { at, axis, COLOURS, escaped, STYLE, tickText } from './scale.ts';

const WIDTH = 760;
const EDGE = 16;
const TITLE_Y = 28;
const TITLE_LINE = 22;
const TITLE_LETTER = 9;
/** Distance from the last line of the title to the first of the key. */
const KEY_BELOW = 26;
const KEY_LINE = 20;
const KEY_SQUARE = 12;
const BAR = 18;
const BAR_GAP = 3;
const GROUP_GAP = 16;
/** Room for the ticks below the bars, and around the lines with the unit. */
const BELOW = 44;
/** Room for the figure beside the longest bar. */
const FIGURE = 150;
const LINE = 16;
const FONT = 13;
/** Mean width of a letter: no font can be measured here. */
const LETTER = 0.56 * FONT;
const MOST_NAME = 240;
const CAP = 4;

/**
 * Draws a chart.
 *
 * @returns an SVG document
 * @throws RangeError if there are more series than colours
 */
export function barsSvg(chart: BarChart): string {
  const { series, groups } = chart;
  if (series.length > COLOURS) throw new RangeError(`${series.length} series in one picture`);
  const names = groups.map(({ name }) => wrapped(name, MOST_NAME));
  const left = EDGE + 8 + widest(names.flat());
  const right = WIDTH - FIGURE;
  const values = groups.flatMap(({ bars }) => bars.flatMap((bar) => (bar ? ends(bar) : [])));
  const scale = axis(values);
  const digits = digitsOf(values);
  const x = (value: number) =>
    left + ((value - scale.from) / (scale.to - scale.from)) * (right - left);
  const titles = wrapped(chart.title, WIDTH - 2 * EDGE, TITLE_LETTER);
  const keyTop = TITLE_Y + (titles.length - 1) * TITLE_LINE + KEY_BELOW;
  const keys = keyPlaces(series);
  const top = keyTop + ((keys.at(-1)?.line ?? 0) + 1) * KEY_LINE;
  const heights = groups.map(({ bars }, i) =>
    Math.max(bars.length * (BAR + BAR_GAP), (names[i]?.length ?? 0) * LINE),
  );
  const parts: string[] = [];
  let y = top + GROUP_GAP / 2;
  for (const [i, { bars }] of groups.entries()) {
    const height = heights[i] as number;
    parts.push(...nameLines(names[i] ?? [], left - 8, y + height / 2));
    const first = y + (height - bars.length * (BAR + BAR_GAP)) / 2;
    for (const [k, bar] of bars.entries()) {
      parts.push(...barParts(bar, k, first + k * (BAR + BAR_GAP), x, digits));
    }
    y += height + GROUP_GAP;
  }
  const bottom = y - GROUP_GAP / 2;
  const range = chart.range === undefined ? '' : `; lines: ${chart.range}`;
  const notes = wrapped(`${chart.unit}, ${chart.better} is better${range}`, WIDTH - 2 * EDGE);
  const height = bottom + BELOW + notes.length * LINE;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${at(height)}" width="${WIDTH}" height="${at(height)}" role="img" font-family="system-ui, sans-serif" font-size="${FONT}">`,
    `<title>${escaped(chart.title)}</title>`,
    `<desc>${escaped(described(chart, digits))}</desc>`,
    STYLE,
    `<rect class="ground" width="100%" height="100%"/>`,
    ...titles.map(
      (line, i) =>
        `<text class="text" x="${EDGE}" y="${TITLE_Y + i * TITLE_LINE}" font-size="16" font-weight="600">${escaped(line)}</text>`,
    ),
    ...keys.flatMap(({ name, x: keyX, line }, i) => {
      const keyY = keyTop + line * KEY_LINE;
      return [
        `<rect class="fill${i}" x="${at(keyX)}" y="${at(keyY - KEY_SQUARE + 1)}" width="${KEY_SQUARE}" height="${KEY_SQUARE}" rx="2"/>`,
        `<text class="text" x="${at(keyX + KEY_SQUARE + 6)}" y="${at(keyY)}">${escaped(name)}</text>`,
      ];
    }),
    ...scale.ticks.flatMap((tick) => [
      `<path class="grid" d="M${at(x(tick))} ${at(top)}V${at(bottom)}"/>`,
      `<text class="quiet" x="${at(x(tick))}" y="${at(bottom + 18)}" text-anchor="middle">${tickText(tick)}</text>`,
    ]),
    ...parts,
    `<path class="axis" d="M${at(x(0))} ${at(top)}V${at(bottom)}"/>`,
    ...notes.map(
      (line, i) =>
        `<text class="quiet" x="${EDGE}" y="${at(bottom + 42 + i * LINE)}">${escaped(line)}</text>`,
    ),
    '</svg>',
  ].join('\n')}\n`;
}

function barParts(
  bar: Bar | undefined,
  series: number,
  y: number,
  x: (value: number) => number,
  digits: number,
): string[] {
  const middle = y + BAR / 2;
  const figure = (where: number, text: string) =>
    `<text class="text" x="${at(where + 6)}" y="${at(middle + 4.5)}">${escaped(text)}</text>`;
  if (bar === undefined || !Number.isFinite(bar.value)) return [figure(x(0), '–')];
  const [from, to] = [Math.min(x(0), x(bar.value)), Math.max(x(0), x(bar.value))];
  const parts = [
    `<rect class="fill${series}" x="${at(from)}" y="${at(y)}" width="${at(to - from)}" height="${BAR}" rx="2"/>`,
  ];
  if (hasRange(bar)) {
    const { low, high } = bar;
    const cap = (value: number) => `M${at(x(value))} ${at(middle - CAP)}V${at(middle + CAP)}`;
    parts.push(
      `<path class="whisker" d="M${at(x(low))} ${at(middle)}H${at(x(high))}${cap(low)}${cap(high)}"/>`,
    );
  }
  parts.push(figure(Math.max(x(0), ...ends(bar).map(x)), figures(bar, digits)));
  return parts;
}

/** Returns a value as it stands beside its bar, with its range in brackets. */
function figures(bar: Bar, digits: number): string {
  const short = (value: number) => rounded(value, digits);
  return hasRange(bar)
    ? `${short(bar.value)} (${short(bar.low)} to ${short(bar.high)})`
    : short(bar.value);
}

function hasRange(bar: Bar): bar is Required<Record<keyof Bar, number>> {
  return isNumber(bar.low) && isNumber(bar.high) && bar.low < bar.high;
}

const isNumber = (value: number | undefined): value is number => Number.isFinite(value);

/** Returns the digits after the point with which the largest value has three that count. */
function digitsOf(values: readonly number[]): number {
  if (values.every(Number.isInteger)) return 0;
  const most = Math.max(...values.map(Math.abs));
  return most >= 100 ? 0 : most >= 10 ? 1 : 2;
}

/** Rounds to some digits, but never a value to zero that is not zero. */
function rounded(value: number, digits: number): string {
  if (value === 0) return '0';
  const text = value.toFixed(digits);
  return Number(text) === 0 ? String(Number(value.toPrecision(1))) : text;
}

const ends = ({ value, low, high }: Bar): number[] => [value, low, high].filter(isNumber);

/** Describes all figures in words, for readers who do not see the picture. */
function described({ unit, series, groups }: BarChart, digits: number): string {
  return groups
    .map(({ name, bars }) => {
      const each = series.map((one, i) => {
        const bar = bars[i];
        return `${one} ${bar && Number.isFinite(bar.value) ? `${figures(bar, digits)} ${unit}` : 'not measured'}`;
      });
      return `${name}: ${each.join(', ')}.`;
    })
    .join(' ');
}

const widthOf = (text: string) => text.length * LETTER;

const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));

/** Splits a name into lines of at most this width, between words. */
function wrapped(name: string, most: number, letter = LETTER): string[] {
  const lines: string[] = [];
  for (const word of name.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length * letter <= most) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}

function nameLines(lines: readonly string[], right: number, middle: number): string[] {
  const first = middle - ((lines.length - 1) * LINE) / 2 + 4.5;
  return lines.map(
    (line, i) =>
      `<text class="text" x="${at(right)}" y="${at(first + i * LINE)}" text-anchor="end">${escaped(line)}</text>`,
  );
}

/** Places the keys of all series, in as many lines as they need. */
function keyPlaces(series: readonly string[]): { name: string; x: number; line: number }[] {
  let [x, line] = [EDGE, 0];
  return series.map((name) => {
    const width = KEY_SQUARE + 6 + widthOf(name) + 20;
    if (x > EDGE && x + width > WIDTH - EDGE) [x, line] = [EDGE, line + 1];
    const place = { name, x, line };
    x += width;
    return place;
  });
}
