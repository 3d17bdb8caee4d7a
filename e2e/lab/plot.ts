/** Draws curves as a picture, without a library: lines, axes, a key. */

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
/** Colours that can be told apart without seeing red and green (Okabe and Ito). */
const COLOURS = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#000000',
  '#8a6d00',
];
/** Dash patterns, for more series than colours. */
const DASHES = ['', '6 3', '2 3'];
const TICKS = 6;

/** Draws a plot. @returns an SVG document on white, so that it is readable on dark pages */
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
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="24" font-size="15">${escaped(plot.title)}</text>`,
    ...xs.ticks.flatMap((tick) => [
      `<path d="M${at(x(tick))} ${TOP}V${bottom}" stroke="#e4e4e4"/>`,
      `<text x="${at(x(tick))}" y="${bottom + 18}" text-anchor="middle">${label(tick)}</text>`,
    ]),
    ...ys.ticks.flatMap((tick) => [
      `<path d="M${LEFT} ${at(y(tick))}H${right}" stroke="#e4e4e4"/>`,
      `<text x="${LEFT - 8}" y="${at(y(tick) + 4)}" text-anchor="end">${label(tick)}</text>`,
    ]),
    `<path d="M${LEFT} ${TOP}V${bottom}H${right}" fill="none" stroke="#444"/>`,
    `<text x="${(LEFT + right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${escaped(plot.x)}</text>`,
    `<text transform="translate(18 ${(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(plot.kind === 'cdf' ? 'share' : plot.y)}</text>`,
    ...series.flatMap(({ name, points }, i) => {
      const style = `stroke="${COLOURS[i % COLOURS.length]}" stroke-width="2" stroke-dasharray="${DASHES[Math.floor(i / COLOURS.length) % DASHES.length]}"`;
      const line = points.map(([px, py]) => `${at(x(px))} ${at(y(py))}`).join('L');
      const keyY = TOP + 8 + i * KEY_LINE;
      return [
        points.length === 0
          ? ''
          : `<path d="M${line}" fill="none" stroke-linejoin="round" ${style}/>`,
        `<path d="M${right + 14} ${keyY}h22" ${style}/>`,
        `<text x="${right + 42}" y="${keyY + 4}">${escaped(name)}</text>`,
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

interface Axis {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

/** Returns an axis from 0 (or the least value, if negative) to a round number above the most. */
function axis(values: readonly number[]): Axis {
  const least = Math.min(0, ...values);
  const most = Math.max(least + 1e-9, ...values);
  const rough = (most - least) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) as number);
  const [from, to] = [Math.floor(least / step) * step, Math.ceil(most / step) * step];
  const count = Math.round((to - from) / step);
  return { from, to, ticks: Array.from({ length: count + 1 }, (_, i) => from + i * step) };
}

const at = (value: number) => value.toFixed(1);
const label = (value: number) => String(Number(value.toPrecision(6)));

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
