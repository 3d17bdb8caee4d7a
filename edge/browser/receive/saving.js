/**
 * Ways in which a browser saves a file that a page makes piece by piece. Each gives the file its name
 * only when all of it is there.
 *
 * 1. `picker`: the user chooses the place first (File System Access: Chromium). Bytes go to a hidden
 *    file there, which replaces the chosen one when it is closed.
 * 2. `folder`: bytes go to the page's own folder on the disk (OPFS: Firefox, Safari), and the browser
 *    then saves a copy as a download. It takes twice the room for a while.
 * 3. `memory`: bytes stay in memory until then (private windows, old browsers).
 */

import { Failure } from './failure.js';

/** Largest file that is kept in memory. */
export const MAX_MEMORY_BYTES = 512 * 1024 * 1024;
const FOLDER = 'millrace-receiving';

/**
 * Room for a file that is being made.
 *
 * @typedef {object} Sink
 * @property {(bytes: Uint8Array<ArrayBuffer>) => Promise<void>} write
 * @property {() => Promise<void>} complete
 * @property {() => Promise<void>} discard
 */

/**
 * A way of this browser.
 *
 * @typedef {object} Way
 * @property {'picker' | 'folder' | 'memory'} kind
 * @property {number} most bytes
 */

/**
 * Finds the best way that this browser has.
 *
 * @param {any} [scope] the browser's global object
 * @returns {Promise<Way>}
 */
export async function findWay(scope = globalThis) {
  if (typeof scope.showSaveFilePicker === 'function') {
    return { kind: 'picker', most: Number.POSITIVE_INFINITY };
  }
  try {
    const folder = await ownFolder(scope);
    await removeLeft(scope, folder);
    const { quota = 0, usage = 0 } = await scope.navigator.storage.estimate();
    const most = quota - usage;
    if (scope.FileSystemFileHandle.prototype.createWritable && most > MAX_MEMORY_BYTES) {
      return { kind: 'folder', most };
    }
  } catch {
    // Private windows have no such folder.
  }
  return { kind: 'memory', most: MAX_MEMORY_BYTES };
}

/**
 * Opens room for a file. Call it in the handler of a click: browsers ask their user only then.
 *
 * @param {Way} way
 * @param {string} name
 * @returns {Promise<Sink | undefined>} undefined if the user wants no file
 */
export async function openSink({ kind }, name) {
  if (kind === 'picker') return openPicked(name);
  return kind === 'folder' ? openInFolder(name) : openInMemory(name);
}

/** @param {string} name */
async function openPicked(name) {
  /** @type {any} */
  const scope = globalThis;
  /** @type {any} */
  let handle;
  try {
    handle = await scope.showSaveFilePicker({ suggestedName: name });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return undefined;
    throw error;
  }
  const stream = await handle.createWritable();
  return {
    write: (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => stored(stream.write(bytes)),
    complete: () => stored(stream.close()),
    async discard() {
      await stream.abort().catch(() => {});
      // The picker has made an empty file, which looks like the whole one.
      const { size } = await handle.getFile().catch(() => ({ size: 1 }));
      if (size === 0) await handle.remove?.().catch(() => {});
    },
  };
}

/** @param {string} name */
async function openInFolder(name) {
  const folder = await ownFolder(globalThis);
  const own = `${Date.now()}-${crypto.randomUUID()}`;
  const unlock = await lock(own);
  const handle = await folder.getFileHandle(own, { create: true });
  const stream = await handle.createWritable();
  return {
    write: (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => stored(stream.write(bytes)),
    async complete() {
      await stored(stream.close());
      // The browser reads it for as long as it needs: it is removed when such a page opens again.
      offer(await handle.getFile(), name);
    },
    async discard() {
      await stream.abort().catch(() => {});
      await folder.removeEntry(own).catch(() => {});
      unlock();
    },
  };
}

/** @param {string} name */
function openInMemory(name) {
  /** @type {Blob[]} */
  let pieces = [];
  return {
    async write(/** @type {Uint8Array<ArrayBuffer>} */ bytes) {
      pieces.push(new Blob([bytes]));
    },
    async complete() {
      offer(new Blob(pieces), name);
    },
    async discard() {
      pieces = [];
    },
  };
}

/**
 * Lets the browser save bytes as a download.
 *
 * @param {Blob} blob
 * @param {string} name
 */
function offer(blob, name) {
  const link = document.createElement('a');
  // A type that no browser shows: the file is saved, whatever its name.
  link.href = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
  link.download = name;
  link.click();
}

/**
 * Waits until bytes are stored. @throws {Failure} `no-room`
 *
 * @param {Promise<void>} writing
 */
async function stored(writing) {
  try {
    await writing;
  } catch (error) {
    throw new Failure('no-room', error instanceof Error ? error.name : '');
  }
}

/** @param {any} scope */
async function ownFolder(scope) {
  const root = await scope.navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER, { create: true });
}

/**
 * Holds a lock for as long as the page lives.
 *
 * @param {string} name
 * @returns {Promise<() => void>} releases it
 */
function lock(name) {
  return new Promise((resolve) => {
    void navigator.locks.request(lockOf(name), () => new Promise((free) => resolve(() => free(0))));
  });
}

/**
 * Removes what pages have left that are not open any more.
 *
 * @param {any} scope
 * @param {any} folder
 */
async function removeLeft(scope, folder) {
  for await (const name of folder.keys()) {
    await scope.navigator.locks.request(
      lockOf(name),
      { ifAvailable: true },
      async (/** @type {unknown} */ held) => {
        if (held !== null) await folder.removeEntry(name).catch(() => {});
      },
    );
  }
}

/** @param {string} name */
function lockOf(name) {
  return `${FOLDER}/${name}`;
}
