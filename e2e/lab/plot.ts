/** Draws curves as a picture, without a library: lines, axes, a key. */

import { at, axis, COLOURS, escaped, STYLE, tickText } from '../charts/scale.ts';

export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
  /** `cdf`: draws the distribution of the points' first numbers. Default: `line`. */
  readonly kind?: 'line' | 'cdf';
}

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 64;
const TOP = 44;
const BOTTOM = 56;
/** Width of the key. */
const RIGHT = 220;
const KEY_LINE = 20;
/** Dash patterns, for more series than colours. */
const DASHES = ['', '6 3', '2 3'];

/** Draws a plot. @returns an SVG document, for light and dark pages */
export function plotSvg(plot: Plot): string {
  const series = plot.series.map((one) => ({ ...one, points: drawn(plot, one) }));
  const all = series.flatMap(({ points }) => points);
  const [xs, ys] = [axis(all.map(([x]) => x)), axis(all.map(([, y]) => y))];
  const x = (value: number) =>
    LEFT + ((value - xs.from) / (xs.to - xs.from)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) =>
    HEIGHT - BOTTOM - ((value - ys.from) / (ys.to - ys.from)) * (HEIGHT - TOP - BOTTOM);
  const right = WIDTH - RIGHT;
  const bottom = HEIGHT - BOTTOM;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    STYLE,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="text" x="${LEFT}" y="24" font-size="15">${escaped(plot.title)}</text>`,
    ...xs.ticks.flatMap((tick) => [
      `<path d="M${at(x(tick))} ${TOP}V${bottom}" class="grid"/>`,
      `<text class="quiet" x="${at(x(tick))}" y="${bottom + 18}" text-anchor="middle">${tickText(tick)}</text>`,
    ]),
    ...ys.ticks.flatMap((tick) => [
      `<path d="M${LEFT} ${at(y(tick))}H${right}" class="grid"/>`,
      `<text class="quiet" x="${LEFT - 8}" y="${at(y(tick) + 4)}" text-anchor="end">${tickText(tick)}</text>`,
    ]),
    `<path class="axis" d="M${LEFT} ${TOP}V${bottom}H${right}"/>`,
    `<text class="quiet" x="${(LEFT + right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${escaped(plot.x)}</text>`,
    `<text class="quiet" transform="translate(18 ${(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(plot.kind === 'cdf' ? 'share' : plot.y)}</text>`,
    ...series.flatMap(({ name, points }, i) => {
      const style = `class="line${i % COLOURS}" stroke-width="2" stroke-dasharray="${DASHES[Math.floor(i / COLOURS) % DASHES.length]}"`;
      const line = points.map(([px, py]) => `${at(x(px))} ${at(y(py))}`).join('L');
      const keyY = TOP + 8 + i * KEY_LINE;
      return [
        points.length === 0
          ? ''
          : `<path d="M${line}" fill="none" stroke-linejoin="round" ${style}/>`,
        `<path d="M${right + 14} ${keyY}h22" ${style}/>`,
        `<text class="text" x="${right + 42}" y="${keyY + 4}">${escaped(name)}</text>`,
      ];
    }),
    '</svg>',
  ];
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

/** Returns the points to draw; distributions become steps from 0 to 1. */
function drawn(plot: Plot, { points }: Series): [number, number][] {
  if (plot.kind !== 'cdf') return points.map(([x, y]) => [x, y]);
  const values = points.map(([x]) => x).sort((a, b) => a - b);
  return values.flatMap((value, i): [number, number][] => [
    [value, i / values.length],
    [value, (i + 1) / values.length],
  ]);
}
