/** Writes sizes, rates, shares and times as readers of a language expect them. */

/** Writes the numbers of a language; a `Catalogue` does. */
export interface Numbers {
  number(value: number, digits?: number): string;
  percent(share: number): string;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
/** No-break space, which keeps figure and unit on one line. */
const SPACE = '\u00a0';

/** Writes a size with at most three significant digits: `1.5 MiB`. */
export function bytes(numbers: Numbers, value: number): string {
  let rest = Math.max(0, value);
  let unit = 0;
  while (rest >= 999.5 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit++;
  }
  const digits = unit === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${numbers.number(rest, digits)}${SPACE}${UNITS[unit]}`;
}

/** Writes a rate in bytes per second: `1.5 MiB/s`. */
export function rate(numbers: Numbers, value: number): string {
  return `${bytes(numbers, value)}/s`;
}

/** Writes a share from 0 to 1, rounded down so that only a complete file is shown as 100 %. */
export function percent(numbers: Numbers, share: number): string {
  const whole = Math.floor(share * 100);
  return numbers.percent(Math.min(100, Math.max(0, whole)) / 100);
}

/** Writes a span of time like a clock: `0:07`, `12:34`, `3:04:05`; from a day on `2 d 3 h`. */
export function duration(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  const pad = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)}${SPACE}d ${hours % 24}${SPACE}h`;
  if (hours > 0) return `${hours}:${pad(minutes)}:${pad(total % 60)}`;
  return `${minutes}:${pad(total % 60)}`;
}

/** Returns the host of a URL; other text is returned as it is. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
