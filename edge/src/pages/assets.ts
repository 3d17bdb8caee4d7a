/**
 * Scripts and styles of the pages, served unchanged. To browsers all of them are in one folder
 * whose name is a digest of all files: they can be kept for ever, and imports between them need no
 * rewriting.
 */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

export interface Assets {
  /** Path of the folder, with a slash at its end. */
  readonly folder: string;
  readonly files: ReadonlyMap<string, Asset>;
}

/** Folder of scripts and styles of the edge's own. */
export const OWN = new URL('../../browser/', import.meta.url);
const SHARED = ['tokens.css', 'base.css'] as const;
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const DARK = /(:root|html)\[data-theme="dark"\]([^{}]*\{[^}]*\})/g;

let loaded: Promise<Assets> | undefined;

/** Reads the assets, once. */
export function loadAssets(): Promise<Assets> {
  loaded ??= readAssets();
  return loaded;
}

async function readAssets(): Promise<Assets> {
  const files = new Map<string, Asset>();
  const shared = new URL(import.meta.resolve('@millrace/shared/style/base.css'));
  for (const name of SHARED) {
    const text = await readFile(new URL(name, shared), 'utf8');
    add(files, name, CSS, withSystemTheme(text));
  }
  add(files, 'icon.svg', 'image/svg+xml', await readFile(new URL('icon.svg', shared), 'utf8'));
  for (const name of (await readdir(OWN)).toSorted()) {
    const read = () => readFile(new URL(name, OWN), 'utf8');
    if (name.endsWith('.css')) add(files, name, CSS, await read());
    if (name.endsWith('.js')) add(files, name, JAVASCRIPT, await read());
  }
  const hash = createHash('sha256');
  for (const [name, { body }] of files) hash.update(`${name}\0`).update(body);
  const digest = hash.digest('base64url').slice(0, 16);
  return { folder: `/-/assets/${digest}/`, files };
}

function add(files: Map<string, Asset>, name: string, type: string, text: string): void {
  files.set(name, { type, body: Buffer.from(text) });
}

/** Makes dark colours follow the system's theme: pages without a script cannot set one. */
export function withSystemTheme(css: string): string {
  return css.replace(
    DARK,
    (_rule, root: string, rest: string) =>
      `@media (prefers-color-scheme: dark) {\n${root}${rest}\n}`,
  );
}
