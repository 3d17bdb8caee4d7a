/** Names browsers, so that people recognise theirs in a list. */

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrom(?:e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Returns a name such as `Firefox (Android)` for a User-Agent field; never empty. */
export function browserName(agent: string | undefined): string {
  const text = (agent ?? '').slice(0, 512);
  const first = (list: typeof BROWSERS) => list.find(([sign]) => sign.test(text))?.[1];
  const browser = first(BROWSERS) ?? 'Browser';
  const system = first(SYSTEMS);
  return system === undefined ? browser : `${browser} (${system})`;
}
