/** Scales, texts and colours of pictures. */

const TICKS = 6;

/** Colours of series that can be told apart without seeing red and green (Okabe and Ito). */
const LIGHT = [
  ...['#0072b2', '#d55e00', '#009e73', '#cc79a7'],
  ...['#e69f00', '#56b4e9', '#000000', '#8a6d00'],
];
/** The same for dark pages. */
const DARK = [
  ...['#4aa8e0', '#ff8a3d', '#2cc79b', '#e3a0c6'],
  ...['#f2b632', '#9cd6f5', '#ffffff', '#c9ab3c'],
];

/** Number of series that have a colour of their own. */
export const COLOURS = LIGHT.length;

/**
 * Styles for light and dark pages: `ground`, `text`, `quiet` text, `grid`, `axis`, and for each
 * series `fillN` and `lineN`.
 */
export const STYLE = `<style>
${rules({ ground: '#ffffff', text: '#17212b', quiet: '#4b5966', grid: '#e1e6ea', axis: '#5b6873' }, LIGHT)}
@media (prefers-color-scheme: dark) {
${rules({ ground: '#12181e', text: '#e6ebf0', quiet: '#a9b5c0', grid: '#2b353f', axis: '#8b98a5' }, DARK)}
}
</style>`;

interface Colours {
  readonly ground: string;
  readonly text: string;
  readonly quiet: string;
  readonly grid: string;
  readonly axis: string;
}

function rules(page: Colours, series: readonly string[]): string {
  return [
    `.ground { fill: ${page.ground} }`,
    `.text { fill: ${page.text} } .quiet { fill: ${page.quiet} }`,
    `.grid { stroke: ${page.grid} } .axis { stroke: ${page.axis}; fill: none }`,
    `.whisker { stroke: ${page.text}; stroke-width: 1.5; fill: none }`,
    ...series.map((colour, i) => `.fill${i} { fill: ${colour} } .line${i} { stroke: ${colour} }`),
  ].join('\n');
}

export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

/** Returns an axis from 0 (or the least value, if negative) to a round number above the most. */
export function axis(values: readonly number[]): Axis {
  const least = Math.min(0, ...values);
  const most = Math.max(least + 1e-9, ...values);
  const rough = (most - least) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) as number);
  const [from, to] = [Math.floor(least / step) * step, Math.ceil(most / step) * step];
  const count = Math.round((to - from) / step);
  return { from, to, ticks: Array.from({ length: count + 1 }, (_, i) => from + i * step) };
}

/** Returns the text at a tick, without the last digits of binary fractions. */
export const tickText = (value: number): string => String(Number(value.toPrecision(6)));

/** Returns a position in a picture with one digit after the point. */
export const at = (value: number): string => value.toFixed(1);

/** Returns a text that XML takes, in attributes as well. */
export function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
