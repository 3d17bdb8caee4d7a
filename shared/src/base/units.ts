/** Sizes, rates and times as people write and read them. */

const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  kb: 1000,
  kib: 1024,
  m: 1024 ** 2,
  mb: 1000 ** 2,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1000 ** 3,
  gib: 1024 ** 3,
  t: 1024 ** 4,
  tb: 1000 ** 4,
  tib: 1024 ** 4,
};

/**
 * Reads a size such as `1048576`, `64K`, `1.5 MiB` or `10GB`. A bare letter means the binary
 * unit; `kB`, `MB`, `GB`, `TB` are decimal, as in the SI.
 *
 * @returns whole bytes, 0 or more; undefined for any other text
 */
export function readBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const factor = FACTORS[match?.[2]?.toLowerCase() ?? '?'];
  return whole(Number(match?.[1]) * (factor ?? Number.NaN));
}

/**
 * Reads a rate in bytes per second such as `500K` or `2MiB/s`.
 *
 * @returns bytes per second, more than 0; undefined for any other text
 */
export function readRate(text: string): number | undefined {
  return readBytes(withoutPerSecond(text)) || undefined;
}

/** Removes the end of a rate that makes it a size. */
export function withoutPerSecond(rate: string): string {
  return rate.trim().replace(/\/s$/i, '');
}

const DURATION_FACTORS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Reads a duration such as `500ms`, `10s`, `5m`, `1h`; a bare number is seconds.
 *
 * @returns milliseconds, 0 or more; undefined for any other text
 */
export function readDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/i.exec(text.trim());
  const factor = DURATION_FACTORS[(match?.[2] ?? 's').toLowerCase()];
  return whole(Number(match?.[1]) * (factor ?? Number.NaN));
}

function whole(value: number): number | undefined {
  const rounded = Math.round(value);
  return Number.isSafeInteger(rounded) ? rounded : undefined;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Writes a size with three significant digits at most: `0 B`, `1.5 KiB`, `256 MiB`. */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${trimZeros(value.toFixed(digits))} ${UNITS[unit]}`;
}

/** Writes a rate: `1.5 MiB/s`. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatBytes(bytesPerSecond)}/s`;
}

/** Writes a time span the way a clock does: `0:07`, `12:34`, `3:04:05`, `2d 3:04:05`. */
export function formatDuration(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  const pad = (n: number) => String(n).padStart(2, '0');
  const days = Math.floor(total / 86_400);
  const hours = Math.floor((total % 86_400) / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const seconds = pad(total % 60);
  if (days > 0) return `${days}d ${hours}:${pad(minutes)}:${seconds}`;
  return hours > 0 ? `${hours}:${pad(minutes)}:${seconds}` : `${minutes}:${seconds}`;
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
