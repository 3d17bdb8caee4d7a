/** The page by which a guest uploads a file to the space of the one who has invited him. */

import { size as sizeText } from '../words.js';
import { Refusal, sendFile, stateOf } from './sending.js';
import { begunBefore, newClaim, remember, spacesOf } from './spaces.js';

/**
 * Words for each refusal: its name, and advice.
 *
 * @type {Readonly<Record<string, readonly [string, string]>>}
 */
const REFUSALS = {
  incomplete: [
    'The link is not complete',
    'Ask the person who has invited you for the whole link, and paste it into the address bar.',
  ],
  over: [
    'The invitation has ended',
    'Its time is over, or the person who has invited you has ended it. Ask for a new one.',
  ],
  taken: [
    'The invitation has been used',
    'All uploads that it permits have been made or begun. Ask the person who has invited you for a new one.',
  ],
  'too-large': ['The file is too large', 'Choose a smaller one, or ask for more room.'],
  'no-room': ['The server has no room', 'Ask the person who has invited you.'],
  changed: [
    'The file has changed meanwhile',
    'Choose it again. If the invitation has been used up by it, ask for a new one.',
  ],
  away: [
    'The server does not answer',
    'What it has is kept. Choose the same file again, here and in this browser, and the upload goes on.',
  ],
  'no-crypto': [
    'This page needs https',
    'Ask for a link that begins with https, or use Millrace itself.',
  ],
};

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Shows one of the page's states. @param {string} state */
function show(state) {
  document.body.dataset.state = state;
}

/** @param {unknown} error */
function fail(error) {
  const kind = error instanceof Refusal ? error.kind : String(error);
  const [title, advice] = REFUSALS[kind] ?? ['Something went wrong in this page', 'Load it again.'];
  byId('failure-title').textContent = title;
  byId('failure-advice').textContent = advice;
  byId('again').hidden = !['too-large', 'changed', 'away'].includes(kind);
  show('failed');
  byId('failure-title').focus();
}

/** @type {number} */
let most = Number.NaN;

/** Looks whether the link still permits an upload, and shows its limits. */
async function open() {
  show('loading');
  byId('command').textContent = `millrace upload --guest '${location.href}' FILE`;
  const spaces = spacesOf(location.href);
  if (spaces.length === 0) return fail('incomplete');
  if (!globalThis.isSecureContext || crypto.subtle === undefined) return fail('no-crypto');
  const states = await Promise.all(spaces.map((space) => stateOf(space, undefined)));
  const there = states.find((state) => state.kind === 'there');
  const kinds = states.map(({ kind }) => kind);
  if (there?.kind === 'there') {
    most = there.most;
    const end = new Date(Date.now() + 1000 * there.seconds);
    byId('size').textContent = sizeText(there.most);
    byId('until').textContent = end.toLocaleString('en-GB', {
      ...{ dateStyle: 'long', timeStyle: 'short' },
    });
  } else if (kinds.includes('away')) return fail(new Refusal('away'));
  // A taken one may be that of a file that this browser has begun to send.
  else if (!kinds.includes('taken')) return fail(new Refusal('over'));
  byId('limits').hidden = there === undefined;
  show('ready');
}

/**
 * Sends a file: goes on with its upload, or begins one.
 *
 * @param {File} file
 */
async function send(file) {
  const stop = new AbortController();
  try {
    const spaces = spacesOf(location.href);
    const begun = begunBefore(spaces, file);
    const space = spaces.find(({ id }) => id === begun?.id) ?? (await freeSpace(spaces));
    if (begun === undefined && file.size > most) throw new Refusal('too-large');
    const claim = begun?.claim ?? newClaim();
    const { name, size, lastModified } = file;
    remember({ id: space.id, claim, name, size, lastModified });
    byId('name').textContent = name;
    byId('cancel').onclick = () => stop.abort();
    globalThis.addEventListener('beforeunload', hold);
    const bar = /** @type {HTMLProgressElement} */ (byId('progress'));
    const onStored = (/** @type {number} */ stored) => {
      bar.value = size === 0 ? 1 : stored / size;
      byId('came').textContent = `${sizeText(stored)} of ${sizeText(size)} stored`;
    };
    onStored(0);
    show('saving');
    await sendFile({
      file,
      space,
      claim,
      onStored,
      pause: pauseFor(stop.signal),
      signal: stop.signal,
    });
    byId('link').textContent = space.read;
    show('done');
    byId('done-title').focus();
  } catch (error) {
    if (stop.signal.aborted) show('ready');
    else fail(error);
  } finally {
    globalThis.removeEventListener('beforeunload', hold);
  }
}

/** @param {readonly import('./spaces.js').Space[]} spaces */
async function freeSpace(spaces) {
  for (const space of spaces) {
    const state = await stateOf(space, undefined);
    if (state.kind === 'away') throw new Refusal('away');
    if (state.kind === 'there' && state.offset === 0 && !state.complete) return space;
  }
  throw new Refusal('taken');
}

/** @param {AbortSignal} signal */
function pauseFor(signal) {
  return (/** @type {number} */ ms) =>
    /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        setTimeout(resolve, ms);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      })
    );
}

/** @param {BeforeUnloadEvent} event */
function hold(event) {
  event.preventDefault();
}

const input = /** @type {HTMLInputElement} */ (byId('file'));
input.addEventListener('change', () => {
  const [file] = input.files ?? [];
  // The same file may be chosen again.
  if (file !== undefined) void send(file).finally(() => (input.value = ''));
});
const zone = byId('drop');
zone.addEventListener('dragover', (event) => {
  event.preventDefault();
  zone.classList.add('over');
});
zone.addEventListener('dragleave', () => zone.classList.remove('over'));
zone.addEventListener('drop', (event) => {
  event.preventDefault();
  zone.classList.remove('over');
  const [file] = event.dataTransfer?.files ?? [];
  if (file !== undefined) void send(file);
});
byId('again').onclick = () => void open();
byId('copy').onclick = async () => {
  await navigator.clipboard.writeText(byId('link').textContent ?? '').catch(() => {});
  byId('copy').textContent = 'Copied';
};
globalThis.addEventListener('hashchange', () => location.reload());
void open();
