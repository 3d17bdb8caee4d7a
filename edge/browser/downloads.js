/** The card with downloads per file, for a range of days that the reader chooses. */

import { element, shape } from './draw.js';
import { count, percent, size } from './words.js';

/**
 * @typedef {{ name: string, begun: number, completed: number, bytes: number }} Sum
 * @typedef {{ total: Omit<Sum, 'name'>, days: readonly Sum[], files: readonly Sum[],
 *   moreFiles: number, countries: readonly Sum[] }} Summary
 */

const POLL_MS = 30_000;
const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
const HEIGHT = 84;
/** Code of clients that no database places. */
const NOWHERE = 'ZZ';

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** Number of the latest request: answers to earlier ones come too late. */
let latest = 0;

/** @param {string} id */
function place(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Begins to show the downloads, and to follow them. */
export function followDownloads() {
  const range = /** @type {HTMLSelectElement} */ (place('downloads-range'));
  range.addEventListener('change', () => void show(range));
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (!document.hidden) void show(range);
  });
  void show(range);
}

/** @param {HTMLSelectElement} range */
async function show(range) {
  clearTimeout(timer);
  const days = Number(range.value);
  const asked = ++latest;
  place('downloads-csv').setAttribute('href', `/-/dashboard/downloads.csv?days=${days}`);
  try {
    const answer = await fetch(`/-/dashboard/downloads?days=${days}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const summary = /** @type {Summary} */ (await answer.json());
    if (asked === latest) place('downloads').replaceChildren(...panel(summary, days));
  } catch {
    // The page says already that the edge does not answer.
  }
  if (asked === latest && !document.hidden) timer = setTimeout(() => void show(range), POLL_MS);
}

/**
 * @param {Summary} summary
 * @param {number} days
 */
function panel({ total, days: each, files, moreFiles, countries }, days) {
  if (total.begun === 0 && total.bytes === 0) {
    return [element('p', { class: 'quiet' }, 'No downloads in these days.')];
  }
  const known = countries.filter(({ name }) => name !== NOWHERE).length > 0;
  return [
    element('p', { class: 'figures' }, [
      `${count(total.begun)} begun, ${count(total.completed)} completed, ${size(total.bytes)} sent`,
    ]),
    ...(days > 1 ? [chart(each, days)] : []),
    table('File', files),
    ...(moreFiles > 0
      ? [element('p', { class: 'quiet' }, `and ${count(moreFiles)} more: the CSV has all of them`)]
      : []),
    ...(known
      ? [
          table(
            'Country',
            countries.map((one) => ({ ...one, name: countryName(one.name) })),
          ),
        ]
      : []),
  ];
}

/** @param {string} code */
function countryName(code) {
  if (code === NOWHERE) return 'Not known';
  return new Intl.DisplayNames('en-GB', { type: 'region' }).of(code) ?? code;
}

/** Fewest days that a chart has room for: it grows with the days that have downloads. */
const MIN_DAYS = 7;

/**
 * Draws the downloads of each day: all as a bar, the completed ones darker.
 *
 * @param {readonly Sum[]} sums
 * @param {number} most days
 */
function chart(sums, most) {
  const today = Math.floor(Date.now() / DAY_MS);
  const used = sums.filter(({ begun }) => begun > 0).map(({ name }) => Date.parse(name) / DAY_MS);
  const days = Math.min(most, Math.max(MIN_DAYS, today - Math.min(today, ...used) + 1));
  const top = Math.max(1, ...sums.map(({ begun }) => begun));
  const svg = shape('svg', {
    class: 'downloads-chart',
    role: 'img',
    viewBox: `0 0 ${days} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    'aria-label': `Downloads by day, at most ${count(top)} on one`,
  });
  for (const { name, begun, completed } of sums) {
    const x = days - 1 - (today - Date.parse(name) / DAY_MS);
    const bar = (/** @type {string} */ kind, /** @type {number} */ value) => {
      const height = (value / top) * HEIGHT;
      return shape('rect', { class: kind, x: x + 0.1, width: 0.8, y: HEIGHT - height, height });
    };
    const title = `${name}: ${count(begun)} begun, ${count(completed)} completed`;
    svg.append(
      shape('g', {}, shape('title', {}, title), bar('begun', begun), bar('completed', completed)),
    );
  }
  const first = new Date((today - days + 1) * DAY_MS).toLocaleDateString('en-GB', DAY_WORDS);
  return element(
    'figure',
    { class: 'days' },
    element('figcaption', { class: 'quiet figures' }, [
      `Downloads by day, up to ${count(top)}; the dark part was completed.`,
    ]),
    svg,
    element('div', { class: 'days-axis figures', 'aria-hidden': 'true' }, [
      element('span', {}, first),
      element('span', {}, 'today'),
    ]),
  );
}

/** @type {Intl.DateTimeFormatOptions} */
const DAY_WORDS = { day: 'numeric', month: 'short', timeZone: 'UTC' };

/**
 * @param {string} title
 * @param {readonly Sum[]} sums
 */
function table(title, sums) {
  const heads = [title, 'Begun', 'Completed', 'Share', 'Sent'].map((text, i) =>
    element('th', { scope: 'col', class: i === 0 ? undefined : 'number' }, text),
  );
  const rows = sums.map(({ name, begun, completed, bytes }) => {
    const share = begun === 0 ? '–' : percent(completed / begun);
    const cells = [count(begun), count(completed), share, size(bytes)];
    return element('tr', {}, element('td', { class: 'mono long' }, name), [
      ...cells.map((text) => element('td', { class: 'number figures' }, text)),
    ]);
  });
  return element(
    'table',
    { class: 'downloads' },
    element('thead', {}, element('tr', {}, heads)),
    element('tbody', {}, rows),
  );
}
