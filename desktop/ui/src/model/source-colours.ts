/** Colours that tell sources apart in map and tables; the first is the accent colour. */

const LIGHT = [
  '#0b7285',
  '#d9822b',
  '#5b5bd6',
  '#3d8f4f',
  '#c2417c',
  '#8a6d1d',
  '#3a7bd5',
  '#7a4fa0',
];
const DARK = [
  '#3fbfd2',
  '#f0a354',
  '#9a9bf5',
  '#74cc87',
  '#f283b6',
  '#d3b654',
  '#7fb2f7',
  '#c196ea',
];

const EARLIER = { light: '#94a1ad', dark: '#64727e' } as const;

export function sourceColour(index: number, dark: boolean): string {
  if (index < 0) return dark ? EARLIER.dark : EARLIER.light;
  const colours = dark ? DARK : LIGHT;
  return colours[index % colours.length] as string;
}
