/** The page that receives an encrypted file: it shows what the link leads to, and saves it. */

import { rate, size as sizeText } from '../words.js';
import { plainPieces } from './body.js';
import { MAX_DOCUMENT, readDescription } from './exnode.js';
import { FAILURES, Failure } from './failure.js';
import { openHead, readKey } from './head.js';
import { descriptionAt, wholeAt } from './links.js';
import { fetchRange, fetchText } from './ranges.js';
import { availableUntil } from './runs.js';
import { findWay, openSink } from './saving.js';

/** Time between two updates of what the page shows. */
const SHOW_MS = 250;

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @type {Record<'picker' | 'folder' | 'memory', (most: number) => string>} */
const WAYS = {
  picker: () => 'Your browser asks where to save it, and writes it there while it comes.',
  folder: (most) =>
    `Your browser stores it in a folder of its own first, which has room for ${sizeText(most)}, and saves a copy in the end. Keep this page open until then.`,
  memory: (most) =>
    `This browser keeps the file in memory until all of it is there: up to ${sizeText(most)}. Keep this page open until then.`,
};

/** Shows one of the page's states: loading, ready, saving, done or failed. */
function show(/** @type {string} */ state) {
  document.body.dataset.state = state;
}

/** @param {unknown} error */
function fail(error, /** @type {boolean} */ mayRepeat) {
  const failure = error instanceof Failure ? error : new Failure('internal', String(error));
  const [title, advice] = FAILURES[failure.kind] ?? ['', ''];
  byId('failure-title').textContent = title;
  byId('failure-advice').textContent = advice;
  byId('failure-detail').textContent = failure.detail;
  document.body.dataset.failure = failure.kind;
  byId('again').hidden = !mayRepeat;
  show('failed');
  byId('failure-title').focus();
}

/** @param {number} ms */
function pause(ms, /** @type {AbortSignal} */ signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Reads the description behind the link, and offers the file. */
async function open() {
  show('loading');
  try {
    if (!globalThis.isSecureContext || crypto.subtle === undefined) throw new Failure('no-crypto');
    const key = readKey(location.hash);
    const place = descriptionAt(location.href);
    const signal = new AbortController().signal;
    const description = readDescription(await fetchText(place, MAX_DOCUMENT, signal));
    const head = await openHead(description, key);
    const way = await findWay();
    byId('name').textContent = head.name;
    document.title = `${head.name} - Millrace`;
    byId('size').textContent = sizeText(description.size);
    byId('until').textContent = untilText(availableUntil(description), description.isCoded);
    byId('way').textContent = WAYS[way.kind](way.most);
    if (description.size > way.most) throw new Failure('too-large');
    byId('save').onclick = () => void save({ description, head, way });
    show('ready');
  } catch (error) {
    fail(error, error instanceof Failure && error.isPassing);
  }
}

/**
 * @param {number} until Unix milliseconds
 * @param {boolean} isCoded
 */
function untilText(until, isCoded) {
  if (until === Number.POSITIVE_INFINITY) return 'not said';
  if (until === Number.NEGATIVE_INFINITY) {
    return isCoded
      ? 'not known: some parts have to be solved from parity'
      : 'no more: some parts are at no place';
  }
  const text = new Date(until).toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short' });
  return until > Date.now() ? text : `${text} at first. The sender may have extended it.`;
}

/**
 * @typedef {object} Opened
 * @property {import('./exnode.js').Description} description
 * @property {import('./head.js').OpenedHead} head
 * @property {import('./saving.js').Way} way
 */

/**
 * Saves the file. The user is asked for its place first, while the click still counts.
 *
 * @param {Opened} opened
 */
async function save({ description, head, way }) {
  /** @type {import('./saving.js').Sink | undefined} */
  let sink;
  const stop = new AbortController();
  const progress = follow(description.size);
  try {
    sink = await openSink(way, head.name);
    if (sink === undefined) return;
    byId('cancel').onclick = () => stop.abort();
    show('saving');
    globalThis.addEventListener('beforeunload', hold);
    const pieces = plainPieces({
      ...{ description, key: head.bodyKey, fetchRange, pause },
      ...{
        page: location.href,
        whole: wholeAt(location.href),
        now: Date.now,
        onBytes: progress.add,
        signal: stop.signal,
      },
    });
    for await (const piece of pieces) {
      await sink.write(piece);
      stop.signal.throwIfAborted();
    }
    byId('cancel').onclick = null;
    await sink.complete();
    byId('done-text').textContent =
      way.kind === 'picker'
        ? 'All of it came, was decrypted, and every block was right.'
        : 'All of it came, was decrypted, and every block was right. Your browser saves it now, like any download.';
    show('done');
    byId('done-title').focus();
  } catch (error) {
    await sink?.discard().catch(() => {});
    if (stop.signal.aborted) show('ready');
    else fail(withCodes(error, description), true);
  } finally {
    stop.abort();
    progress.end();
    globalThis.removeEventListener('beforeunload', hold);
  }
}

/**
 * Adds what else helps for a file with parity.
 *
 * @param {unknown} error
 * @param {import('./exnode.js').Description} description
 */
function withCodes(error, { isCoded }) {
  const isOfPlaces = error instanceof Failure && error.kind in FAILURES && error.kind !== 'no-room';
  byId('codes').hidden = !(isOfPlaces && isCoded);
  return error;
}

/** @param {BeforeUnloadEvent} event */
function hold(event) {
  event.preventDefault();
}

/**
 * Shows the bytes that have come.
 *
 * @param {number} size
 */
function follow(size) {
  const bar = /** @type {HTMLProgressElement} */ (byId('progress'));
  let bytes = 0;
  /** Bytes and times of the last seconds. */
  const recent = [{ at: performance.now(), bytes }];
  const draw = () => {
    recent.push({ at: performance.now(), bytes });
    if (recent.length > 20) recent.shift();
    const [old, last] = [recent[0], recent.at(-1)];
    const ms = last && old ? last.at - old.at : 0;
    const speed = ms > 0 && last && old ? Math.max(0, (1000 * (last.bytes - old.bytes)) / ms) : 0;
    bar.value = size === 0 ? 1 : bytes / size;
    byId('came').textContent = `${sizeText(bytes)} of ${sizeText(size)}`;
    byId('speed').textContent = speed > 0 ? rate(speed) : '';
  };
  const timer = setInterval(draw, SHOW_MS);
  draw();
  return {
    add(/** @type {number} */ more) {
      bytes += more;
    },
    end() {
      clearInterval(timer);
    },
  };
}

byId('again').onclick = () => void open();
// Another key that is typed into the address bar.
globalThis.addEventListener('hashchange', () => location.reload());
byId('command').textContent = `millrace get '${location.href}'`;
void open();
