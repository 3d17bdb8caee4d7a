/** Methods of the dialog for adding downloads. */

import { resolve } from 'node:path';
import { asMillraceError } from '@millrace/shared/base/errors';
import type { FoundLink, MetalinkFile } from '@millrace/shared/bridge/adding-api';
import { categoryOf } from '@millrace/shared/download/category';
import { nameFromUrl } from '@millrace/shared/download/file-name';
import { linksInText, MAX_LINKS, MAX_TEXT_CHARS } from '@millrace/shared/download/links-in-text';
import { parseMetalink } from '@millrace/shared/download/metalink';
import { looksLikeMetalink } from '@millrace/shared/download/metalink-types';
import { z } from 'zod';
import { duplicateOf } from '../daemon/duplicates.ts';
import type { Manager } from '../daemon/manager.ts';
import type { NewDownload } from '../daemon/new-download.ts';
import type { Method } from './dispatcher.ts';
import { downloadOfFile } from './metalink.ts';
import { type MillraceOptions, method } from './millrace-methods.ts';

const MAX_ADDED = 1000;

export function addingMethods({
  manager,
  parseMetalink: parse,
}: MillraceOptions): [string, Method][] {
  return [
    method('addMany', z.strictObject({ downloads: z.array(z.unknown()).max(MAX_ADDED) }), (p) =>
      addMany(manager, p.downloads as NewDownload[]),
    ),
    method(
      'addMetalink',
      z.looseObject({ metalink: z.string(), only: z.array(z.number().int().min(0)).optional() }),
      ({ metalink, only, ...rest }) => {
        const document = Buffer.from(metalink, 'base64');
        const files = only === undefined ? parse(document) : chosen(document, only);
        const asked = files.map((file) => ({ ...rest, ...file }));
        return { gids: manager.addAll(asked).map((record) => record.gid) };
      },
    ),
    method('readMetalink', z.strictObject({ metalink: z.string() }), (p) => ({
      files: readFiles(manager, Buffer.from(p.metalink, 'base64')),
    })),
    method('parseText', z.strictObject({ text: z.string().max(MAX_TEXT_CHARS) }), ({ text }) => {
      const { urls, truncated } = linksInText(text);
      return { links: urls.map((url) => linkOf(manager, url)), truncated };
    }),
    method(
      'checkDuplicates',
      z.strictObject({ urls: z.array(z.string()).max(MAX_LINKS) }),
      ({ urls }) => ({
        duplicates: urls.flatMap((url) => duplicateOf(manager.store, url) ?? []),
      }),
    ),
  ];
}

/** Adds what can be added, as one change. */
function addMany(manager: Manager, downloads: readonly NewDownload[]) {
  const gids: string[] = [];
  const failed: object[] = [];
  manager.atOnce(() => {
    for (const [index, download] of downloads.entries()) {
      try {
        gids.push(manager.add(download).gid);
      } catch (thrown) {
        const { code, message, detail } = asMillraceError(thrown);
        failed.push({ index, code, message, detail });
      }
    }
  });
  return { gids, failed };
}

/** Where a file of that name goes. */
function placeOf({ settings, dir }: Manager, name: string) {
  const category = categoryOf(name, settings.categories);
  return { category: category?.name, dir: resolve(dir, category?.folder ?? '') };
}

function linkOf(manager: Manager, url: string): FoundLink {
  const name = nameFromUrl(url);
  return {
    url,
    name,
    ...placeOf(manager, name),
    metalink: looksLikeMetalink(undefined, name),
    duplicate: duplicateOf(manager.store, url),
  };
}

function readFiles(manager: Manager, document: Uint8Array): MetalinkFile[] {
  return parseMetalink(document).files.map((file, index) => {
    const { name, size, digests, pieces } = file;
    const urls = downloadOfFile(file)?.urls ?? [];
    return {
      index,
      name,
      size,
      urls,
      digests,
      pieces: pieces[0]?.hexes.length ?? 0,
      ...placeOf(manager, name),
      usable: urls.length > 0,
      duplicate: urls[0] === undefined ? undefined : duplicateOf(manager.store, urls[0]),
    };
  });
}

/** Files by their places in the document; those that cannot be downloaded are left out. */
function chosen(document: Uint8Array, only: readonly number[]): NewDownload[] {
  const { files } = parseMetalink(document);
  return [...new Set(only)].flatMap((index) => {
    const file = files[index];
    return file === undefined ? [] : (downloadOfFile(file) ?? []);
  });
}
