/** Numbers as people read them. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/**
 * A size with three significant digits at most: `1.5 MiB`.
 *
 * @param {number} bytes
 */
export function size(bytes) {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${Number(value.toFixed(digits))} ${UNITS[unit]}`;
}

/** @param {number} bytesPerSecond */
export function rate(bytesPerSecond) {
  return `${size(bytesPerSecond)}/s`;
}

/**
 * A share from 0 to 1: less than all is never shown as 100 %.
 *
 * @param {number} share
 */
export function percent(share) {
  const value = share * 100;
  if (value > 99.9 && value < 100) return '99.9 %';
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} %`;
}

/** @param {number} number */
export function count(number) {
  return Math.round(number).toLocaleString('en-GB');
}

/**
 * A count with its noun: `1 request`, `2,000 requests`.
 *
 * @param {number} number
 * @param {string} noun singular
 * @param {string} [plural] default: the singular with an s
 */
export function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${Math.round(number) === 1 ? noun : plural}`;
}

/** @param {number} ms */
export function milliseconds(ms) {
  return `${Number(ms.toFixed(ms < 10 ? 1 : 0))} ms`;
}

/** @param {number} seconds */
export function span(seconds) {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days >= 1) return `${days} d ${hours % 24} h`;
  if (hours >= 1) return `${hours} h ${minutes % 60} min`;
  return minutes >= 1 ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

/**
 * A time as a chart names it.
 *
 * @param {number} seconds
 */
export function longAgo(seconds) {
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** @param {string} code such as `origin-timeout` */
export function words(code) {
  return code.charAt(0).toUpperCase() + code.slice(1).replaceAll('-', ' ');
}
