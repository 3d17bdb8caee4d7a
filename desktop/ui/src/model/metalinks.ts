/** Has the daemon read Metalink files, torrents and exNodes that were dropped or chosen, and magnet links. */

import { isDescriptionType } from '@millrace/shared/bridge/rpc/adding-api';
import type { App } from './app.ts';
import type { GivenMetalink } from './app-state.ts';

const MAX_FILES = 20;
/** Largest document: in base64 the daemon still accepts a message of this size. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Most magnet links of a text that are read. */
const MAX_MAGNETS = 20;
const MAGNET = /\bmagnet:\?[^\s"<>]+/gi;

/** Returns true for names that Metalink files, torrents and exNodes have. */
export function isMetalinkName(name: string): boolean {
  return /\.(meta4|metalink|torrent)$/i.test(name) || isExnodeName(name);
}

function isExnodeName(name: string): boolean {
  return /\.exnode$/i.test(name);
}

/** Returns the magnet links of a text, each once. */
export function magnetsIn(text: string): readonly string[] {
  return [...new Set(text.match(MAGNET) ?? [])].slice(0, MAX_MAGNETS);
}

/** Removes magnet links from a text: the addresses in them are not links of their own. */
export function withoutMagnets(text: string): string {
  return text.replace(MAGNET, ' ');
}

/** Reads a magnet link. @throws CallError, also if no web server is known that has its files */
export async function readMagnet(app: App, magnet: string): Promise<GivenMetalink> {
  const base64 = toBase64(new TextEncoder().encode(magnet));
  const { files } = await app.call('millrace.readMetalink', { metalink: base64 });
  const name = new URLSearchParams(magnet.slice(magnet.indexOf('?'))).get('dn') ?? magnet;
  return { name, base64, files, torrent: true };
}

/** Returns true for a link whose name, or type if the server was asked, is that of a description. */
export function leadsToMetalink(isByName: boolean, type: string | undefined): boolean {
  return isByName || isDescriptionType(type);
}

/** Reads the Metalink document or torrent at a URL. @throws CallError */
export async function readMetalinkAt(app: App, url: string): Promise<GivenMetalink> {
  const { files, metalink = '' } = await app.call('millrace.readMetalink', { url });
  return { name: url, base64: metalink, files, torrent: /\.torrent$/i.test(new URL(url).pathname) };
}

/** Reads Metalink files, torrents and exNodes, and shows a message for each unreadable one. @returns the readable ones */
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

/** Reads a Metalink document, a torrent or an exNode. @throws CallError for any other file */
export async function readMetalink(app: App, name: string, base64: string): Promise<GivenMetalink> {
  if (isExnodeName(name)) {
    const { encrypted, ...found } = await app.call('millrace.readExnode', { exnode: base64 });
    const file = { ...found, index: 0, digests: [], pieces: 0, usable: true };
    return { name, base64, files: [file], exnode: { isEncrypted: encrypted } };
  }
  const { files } = await app.call('millrace.readMetalink', { metalink: base64 });
  return { name, base64, files, torrent: /\.torrent$/i.test(name) };
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  const step = 8192;
  for (let i = 0; i < bytes.length; i += step) {
    text += String.fromCharCode(...bytes.subarray(i, i + step));
  }
  return btoa(text);
}
