/**
 * Puts the last half hour of an edge's figures together from its answers, and derives rates from
 * it.
 *
 * @typedef {Record<string, number[]>} Series
 * @typedef {{ stepMs: number, first: number, series: Series }} Steps
 */

/** Tiers that chunks can come from, the nearest first. */
export const TIERS = /** @type {const} */ (['memory', 'disk', 'peer', 'source']);
/** Most steps that are shown. */
const KEPT = 360;

/**
 * Adds steps to known ones: a step that is told again replaces the one that was told before.
 *
 * @param {Steps | undefined} known
 * @param {Steps} told
 * @returns {Steps}
 */
export function extended(known, told) {
  const end = known === undefined ? 0 : known.first + lengthOf(known);
  // A gap, another step or an earlier time: the edge was away, or is another one.
  if (known === undefined || known.stepMs !== told.stepMs) return told;
  if (told.first > end || told.first < known.first) return told;
  const kept = told.first - known.first;
  /** @type {Series} */
  const series = {};
  for (const [name, values] of Object.entries(told.series)) {
    series[name] = [...(known.series[name] ?? []).slice(0, kept), ...values].slice(-KEPT);
  }
  const length = kept + lengthOf(told);
  return { ...told, first: known.first + Math.max(0, length - KEPT), series };
}

/** @param {Steps} steps */
export function lengthOf({ series }) {
  return Object.values(series)[0]?.length ?? 0;
}

/**
 * The latest steps, the one under way included.
 *
 * @param {Steps} steps
 * @param {number} most
 * @returns {Steps}
 */
export function cut(steps, most) {
  const left = Math.max(0, lengthOf(steps) - most);
  if (left === 0) return steps;
  const series = Object.fromEntries(
    Object.entries(steps.series).map(([name, values]) => [name, values.slice(left)]),
  );
  return { ...steps, first: steps.first + left, series };
}

/**
 * Growth over all steps, the one under way included.
 *
 * @param {Steps} steps
 * @param {...string} names of series
 */
export function total({ series }, ...names) {
  return names.flatMap((name) => series[name] ?? []).reduce((sum, value) => sum + value, 0);
}

/**
 * Says whether a figure is good.
 *
 * @typedef {{ state: 'good' | 'warn' | 'bad' | 'none', text: string }} Verdict
 * @param {number} served bytes
 * @param {number} fetched bytes
 * @returns {Verdict}
 */
export function offloadVerdict(served, fetched) {
  if (served === 0) return { state: 'none', text: 'No file was served in this time.' };
  const ratio = fetched === 0 ? Number.POSITIVE_INFINITY : served / fetched;
  if (ratio >= 5) return { state: 'good', text: 'Good: origins are spared most of the work.' };
  if (ratio >= 1.5) return { state: 'warn', text: 'Fair: above 5× is good.' };
  return { state: 'bad', text: 'Little: files are new, large for the cache, or not kept.' };
}

/**
 * Says whether enough chunks are near. In a network each edge keeps a part of all chunks, so that most
 * come from the others.
 *
 * @param {number} hits chunks that were at hand
 * @param {number} delivered chunks
 * @param {number} peer chunks that other edges had
 * @returns {Verdict}
 */
export function hitsVerdict(hits, delivered, peer) {
  if (delivered === 0) return { state: 'none', text: 'No chunk was sent in this time.' };
  const share = hits / delivered;
  if (share >= 0.8) return { state: 'good', text: 'Good: most were in memory or on disk.' };
  if ((hits + peer) / delivered >= 0.8) {
    return { state: 'good', text: 'Good: nearly all others came from other edges.' };
  }
  if (share >= 0.5) return { state: 'warn', text: 'Fair: above 80 % is good.' };
  return { state: 'bad', text: 'Few: many came from origins.' };
}

/**
 * @param {number} errors
 * @param {number} requests
 * @returns {Verdict}
 */
export function errorsVerdict(errors, requests) {
  if (requests === 0) return { state: 'none', text: 'Nobody asked in this time.' };
  const share = errors / requests;
  if (share < 0.01) return { state: 'good', text: 'Good: below 1 %.' };
  if (share < 0.05) return { state: 'warn', text: 'Fair: below 1 % is good.' };
  return { state: 'bad', text: 'Many: “Errors” below names the causes.' };
}

/**
 * @param {number} again chunks that were requested again
 * @param {number} came chunks that came in
 * @returns {Verdict}
 */
export function retriesVerdict(again, came) {
  const share = again / Math.max(1, came);
  if (share < 0.02) return { state: 'good', text: 'Good: fewer than 2 % were requested again.' };
  if (share < 0.1) return { state: 'warn', text: 'Fair: fewer than 2 % requested again is good.' };
  return { state: 'bad', text: 'Many were late: origins, other edges or the line are slow.' };
}

/**
 * Values of a series without the step that is under way, whose figures still grow.
 *
 * @param {Steps} steps
 * @param {string} name
 */
export function over({ series }, name) {
  return (series[name] ?? []).slice(0, -1);
}

/**
 * Growth per second.
 *
 * @param {Steps} steps
 * @param {string} name
 */
export function perSecond(steps, name) {
  return over(steps, name).map((value) => (value * 1000) / steps.stepMs);
}

/**
 * The share of each tier in the chunks of a step; none if there were no chunks.
 *
 * @param {Steps} steps
 * @returns {(number[] | undefined)[]} in the order of `TIERS`
 */
export function tierShares(steps) {
  const tiers = TIERS.map((tier) => over(steps, tier));
  return (tiers[0] ?? []).map((_, i) => {
    const counts = tiers.map((values) => values[i] ?? 0);
    const all = counts.reduce((sum, value) => sum + value, 0);
    return all === 0 ? undefined : counts.map((value) => value / all);
  });
}

/**
 * Mean window per step; none if no chunk came in.
 *
 * @param {Steps} steps
 * @returns {(number | undefined)[]}
 */
export function meanWindows(steps) {
  const counts = over(steps, 'windowCount');
  return over(steps, 'windowSum').map((sum, i) => {
    const seen = counts[i] ?? 0;
    return seen === 0 ? undefined : sum / seen;
  });
}

/**
 * Relief of the origin: bytes served for each byte fetched.
 *
 * @param {number} served
 * @param {number} fetched
 */
export function offload(served, fetched) {
  if (served === 0) return '–';
  if (fetched === 0) return '∞';
  const ratio = served / fetched;
  return `${ratio >= 100 ? Math.round(ratio) : Number(ratio.toFixed(ratio >= 10 ? 1 : 2))}×`;
}

/**
 * A round number that is at least as large.
 *
 * @param {number} value
 * @param {number} base of the units: 1024 for bytes
 */
export function roundUp(value, base) {
  if (value <= 0) return base === 1024 ? 1024 : 1;
  const unit = base ** Math.max(0, Math.floor(Math.log(value) / Math.log(base)));
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  return (steps.find((step) => step * unit >= value) ?? base) * unit;
}

/**
 * Rings of the map of round-trip times, milliseconds: each is ten times the one inside it, and all
 * times lie between the first and the last.
 *
 * @param {readonly number[]} times milliseconds
 */
export function rings(times) {
  const measured = times.filter((time) => time > 0);
  const low = Math.floor(Math.log10(Math.min(...measured, 1)));
  const high = Math.ceil(Math.log10(Math.max(...measured, 10)));
  return Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
}

/**
 * Position of a time between the first ring (0) and the last (1).
 *
 * @param {number} time milliseconds
 * @param {readonly number[]} all rings
 */
export function placeOn(time, all) {
  const [first, last] = [Math.log10(all[0] ?? 1), Math.log10(all.at(-1) ?? 10)];
  return Math.min(1, Math.max(0, (Math.log10(Math.max(time, 1e-6)) - first) / (last - first)));
}

/**
 * Sorts other edges for display: those that cannot be used, then those in use, then the rest. The
 * nearest of each come first, and those whose time is not known last.
 *
 * @template {{ name: string, rttMs: number | null, usable: boolean, member: boolean }} Peer
 * @param {readonly Peer[]} peers
 * @returns {Peer[]}
 */
export function inOrder(peers) {
  /** @param {Peer} peer */
  const rank = ({ usable, member }) => (usable ? (member ? 1 : 2) : 0);
  /** @param {Peer} peer */
  const time = ({ rttMs }) => rttMs ?? Number.MAX_VALUE;
  return peers.toSorted(
    (a, b) => rank(a) - rank(b) || time(a) - time(b) || (a.name < b.name ? -1 : 1),
  );
}
