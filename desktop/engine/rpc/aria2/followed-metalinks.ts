/**
 * Follows Metalink documents and torrents that clients of aria2 download (`--follow-metalink` and
 * `--follow-torrent` of aria2c(1)): once a document is complete, the files that it describes are added. What a document has led to is
 * remembered while the daemon runs.
 */

import { readFile, rm, stat } from 'node:fs/promises';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { noteOfError } from '@millrace/shared/base/notes';
import { MAX_DOCUMENT_BYTES } from '@millrace/shared/download/metalink/xml-tree';
import {
  isFollowed,
  isTorrentName,
  isTorrentType,
} from '@millrace/shared/download/request/document-name';
import type { Manager } from '../../downloads/manager.ts';
import type { ParseMetalink } from '../../downloads/metalinks.ts';
import { describedBy, inheritable } from './downloads.ts';
import type { Relations } from './status.ts';

export class FollowedMetalinks {
  readonly #manager: Manager;
  readonly #parseMetalink: ParseMetalink;
  readonly #relations = new Map<string, Relations>();

  constructor(manager: Manager, parseMetalink: ParseMetalink) {
    this.#manager = manager;
    this.#parseMetalink = parseMetalink;
    manager.listen((event) => {
      if (event.kind === 'completed') void this.#follow(event.gid, event.contentType);
      if (event.kind === 'forgotten') for (const gid of event.gids) this.#relations.delete(gid);
    });
  }

  /** Returns what a download has led to, and what has led to it. */
  relationsOf(gid: string): Relations {
    return this.#relations.get(gid) ?? {};
  }

  /** Adds the files of a document, if the download is one and is to be followed. Never rejects. */
  async #follow(gid: string, type: string | undefined): Promise<void> {
    // A document that a document names is a file like others: it could name itself.
    if (this.#relations.get(gid)?.following !== undefined) return;
    try {
      const { path, options } = this.#manager.get(gid);
      const { aria2 } = options;
      if (aria2 === undefined || path === undefined) return;
      // As in aria2, the name that the file has counts, whoever gave it.
      if (!isFollowed({ given: path, type, isKnown: aria2.out !== undefined })) return;
      const inherited = inheritable(this.#manager);
      const isTorrent = isTorrentName(path) || isTorrentType(type);
      const option = isTorrent ? 'follow-torrent' : 'follow-metalink';
      const follow = { ...inherited, ...aria2 }[option];
      if (follow === 'false') return;
      const { size } = await stat(path);
      if (size > MAX_DOCUMENT_BYTES) {
        throw new MillraceError('bad-metalink', `it has more than ${MAX_DOCUMENT_BYTES} bytes`);
      }
      const files = await this.#parseMetalink(await readFile(path), Date.now());
      const asked = describedBy(files, inherited, aria2);
      const gids = this.#manager.addAll(asked).map((record) => record.gid);
      this.#relations.set(gid, { followedBy: gids });
      for (const each of gids) this.#relations.set(each, { following: gid });
      // The document is not wanted on the disk.
      if (follow === 'mem') await rm(path, { force: true });
    } catch (error) {
      this.#manager.note(gid, noteOfError('failed', asMillraceError(error)));
    }
  }
}
