/** Has the daemon read Metalink files and exNodes that were dropped or chosen. */

import type { App } from './app.ts';
import type { GivenMetalink } from './app-state.ts';

const MAX_FILES = 20;
/** Largest document: in base64 the daemon still accepts a message of this size. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Returns true for names that Metalink files and exNodes have. */
export function isMetalinkName(name: string): boolean {
  return /\.(meta4|metalink)$/i.test(name) || isExnodeName(name);
}

function isExnodeName(name: string): boolean {
  return /\.exnode$/i.test(name);
}

/** Reads Metalink files and exNodes, and shows a message for each unreadable one. @returns the readable ones */
export async function readMetalinkFiles(
  app: App,
  files: readonly File[],
): Promise<GivenMetalink[]> {
  const given: GivenMetalink[] = [];
  for (const file of files.slice(0, MAX_FILES)) {
    try {
      if (file.size > MAX_BYTES) throw new Error(app.text.t('add.metalink.tooLarge'));
      const base64 = toBase64(new Uint8Array(await file.arrayBuffer()));
      given.push(await readMetalink(app, file.name, base64));
    } catch (error) {
      const why = app.reason(error);
      app.toast(app.text.t('add.metalink.bad', { name: file.name, why }), { kind: 'bad' });
    }
  }
  return given;
}

/** Reads a Metalink document or an exNode. @throws CallError for any other file */
export async function readMetalink(app: App, name: string, base64: string): Promise<GivenMetalink> {
  if (isExnodeName(name)) {
    const { encrypted, ...found } = await app.call('millrace.readExnode', { exnode: base64 });
    const file = { ...found, index: 0, digests: [], pieces: 0, usable: true };
    return { name, base64, files: [file], exnode: { isEncrypted: encrypted } };
  }
  const { files } = await app.call('millrace.readMetalink', { metalink: base64 });
  return { name, base64, files };
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  const step = 8192;
  for (let i = 0; i < bytes.length; i += step) {
    text += String.fromCharCode(...bytes.subarray(i, i + step));
  }
  return btoa(text);
}
