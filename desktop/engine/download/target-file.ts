/**
 * The file that a download makes: its name, the partial file of that name, and the hasher that
 * follows its growth. A download that starts over closes the partial file and opens it again; the
 * name stays.
 */

import { mkdir } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { type Digest, strongest } from '@millrace/shared/base/digest';
import { type ErrorCode, isMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { noteOf } from '@millrace/shared/base/notes';
import type { PartialHeader } from '@millrace/shared/download/journal/earlier-partial';
import { nameFromUrl, safeFileName } from '@millrace/shared/download/request/file-name';
import { type DownloadRequest, exnodeUrl } from '@millrace/shared/download/request/request';
import type { Vouch } from '@millrace/shared/download/signatures/verdict';
import type { SourceVersion } from '@millrace/shared/download/transfer/same-file';
import type { Exnode } from '@millrace/shared/exnode/exnode';
import { fileError } from '../files/file-error.ts';
import { exists } from '../files/file-steps.ts';
import { makeFolderOf } from '../files/folder-within.ts';
import { numberedPath } from '../files/numbered-path.ts';
import { DATA_SUFFIX } from '../files/partial-names.ts';
import type { FileCheck } from '../hash/file-check.ts';
import { FileHasher } from '../hash/file-hasher.ts';
import { PartialFile } from '../partial/partial-file.ts';
import type { Vouching } from '../signatures/vouching.ts';
import { checkEarlierBytes } from '../sources/earlier-bytes.ts';
import type { First } from '../sources/opening.ts';
import { isPage } from '../sources/source-answer.ts';
import type { DownloadReport } from './download-report.ts';
import type { DownloadContext } from './download-types.ts';
import { nameFor } from './server-name.ts';

/** Names of files that are web pages themselves. */
const PAGE_NAME = /\.x?html?$/i;
/** Highest number to try in a name while other downloads have the lower ones. */
const MAX_NUMBER = 99;
const OF_ANOTHER: ReadonlySet<ErrorCode> = new Set(['different-file']);
const TAKEN: ReadonlySet<ErrorCode> = new Set(['different-file', 'file-exists', 'file-in-use']);

/** Errors which show that the stored bytes are not the file. */
const WRONG: ReadonlySet<ErrorCode> = new Set(['checksum-mismatch', 'bad-signature']);

/** Returns true for errors that say that the whole file is not the wanted one. */
export const isWrongFile = (error: unknown): boolean =>
  isMillraceError(error) && WRONG.has(error.code);

/** Results of checking a complete file. */
export interface Checked {
  /** Digest that it was checked against, if any. */
  readonly digest: Digest | undefined;
  /** The signer that vouches for it, if any does. */
  readonly vouch: Vouch | undefined;
}

const NOT_CHECKED: Checked = { digest: undefined, vouch: undefined };

/** A version of a file whose length need not be known. */
export type UnsizedVersion = Omit<SourceVersion, 'length'> & {
  readonly length: number | undefined;
};

/** Facts by which the partial file is opened. */
interface Opening {
  readonly header: PartialHeader;
  /** Stated digests of the whole file. */
  readonly digests: readonly Digest[];
  readonly isPage: boolean;
  readonly ownUrls: readonly string[];
  /** Keeps the bytes of an earlier run that belong to this file. */
  readonly checkEarlier: (file: PartialFile) => Promise<void>;
}

export interface TargetFileOptions {
  readonly request: DownloadRequest;
  readonly context: DownloadContext;
  readonly report: DownloadReport;
  /** Called after more bytes have been stored. */
  readonly onStored: () => void;
  /** Called with ranges that are no longer stored. */
  readonly onLost: (ranges: readonly ByteRange[]) => void;
}

export class TargetFile {
  readonly #options: TargetFileOptions;
  #file: PartialFile | undefined;
  /** File that has its final name, but whose completion has not been recorded yet. */
  #finished: PartialFile | undefined;
  #hasher: FileHasher | undefined;
  #path: string | undefined;

  constructor(options: TargetFileOptions) {
    this.#options = options;
  }

  /**
   * The final path, once it is settled: before, the stored bytes may belong to another download.
   */
  get path(): string | undefined {
    return this.#path;
  }

  /** The partial file, while it is open. */
  get partial(): PartialFile | undefined {
    return this.#file;
  }

  /** The partial file. @throws Error if it is not open */
  get file(): PartialFile {
    if (this.#file === undefined) throw new Error('the partial file is not open');
    return this.#file;
  }

  /** The hasher of the partial file. @throws Error if the partial file is not open */
  get hasher(): FileHasher {
    if (this.#hasher === undefined) throw new Error('the partial file is not open');
    return this.#hasher;
  }

  /**
   * Opens the partial file, under another name if an unfinished download of another file has the
   * first, and keeps its bytes that belong to this version.
   *
   * @param ownUrls all known URLs of the file
   * @throws MillraceError
   */
  async open(
    first: First,
    version: UnsizedVersion,
    ownUrls: readonly string[],
  ): Promise<PartialFile> {
    const { length, validators, digests } = version;
    const { random, signal } = this.#options.context;
    const { source, opened } = first;
    return this.#openNamed(() => nameFor(source.url, opened.headers), {
      header: { url: source.url, length, validators },
      digests,
      isPage: length === undefined && isPage(opened),
      ownUrls,
      checkEarlier: async (file) => {
        if (length === undefined) return;
        const sized = { ...version, length };
        await checkEarlierBytes({ file, source, version: sized, ownUrls, random, signal });
      },
    });
  }

  /**
   * Opens the partial file of a file that an exNode describes, as `open` does. Stored bytes belong
   * to it if the journal names its root.
   *
   * @throws MillraceError
   */
  openDescribed({ name, size: length, sha256, root }: Exnode): Promise<PartialFile> {
    const url = exnodeUrl(root);
    return this.#openNamed(() => safeFileName(name), {
      header: { url, length, validators: { etag: `"${root}"` } },
      digests: sha256 === undefined ? [] : [{ algorithm: 'sha256', hex: sha256 }],
      isPage: false,
      ownUrls: [url],
      checkEarlier: (file) => keepOwn(file, url),
    });
  }

  /** Makes the folder of a file that has to stay within one, or whose folder the user has named. */
  async #makeFolder(path: string, within: string | undefined, always: boolean): Promise<void> {
    if (within !== undefined) await makeFolderOf(path, within);
    else if (always) await mkdir(dirname(path), { recursive: true });
  }

  async #openNamed(name: () => string, opening: Opening): Promise<PartialFile> {
    const { file, dir, within, overwrite, rename = file === undefined } = this.#options.request;
    const named = () => resolve(dir, file ?? name());
    // A download that has begun keeps its name, even if another source gives another one.
    const path = this.#path ?? named();
    const { makesFolder = false } = this.#options.context;
    await this.#makeFolder(path, within, makesFolder).catch((error) => {
      throw fileError(error, path);
    });
    const last = rename && !overwrite ? MAX_NUMBER : 0;
    for (let number = 0; ; number++) {
      try {
        const opened = await this.#openAt(numberedPath(path, number), opening);
        if (number > 0) {
          this.#options.report.note(noteOf('name-taken', { name: basename(opened.path) }));
        }
        return opened;
      } catch (error) {
        const taken = isMillraceError(error) && (number === 0 ? OF_ANOTHER : TAKEN).has(error.code);
        if (number === last || !taken) throw error;
      }
    }
  }

  /**
   * Returns true if bytes of the file may be stored already, from an earlier run or attempt. A
   * file that the server names otherwise than its URL is found only once the server has answered.
   *
   * @param ownUrls all known URLs of the file
   */
  async mayHaveBytes([url = '']: readonly string[]): Promise<boolean> {
    const { file, dir } = this.#options.request;
    const path = this.#path ?? resolve(dir, file ?? nameFromUrl(url));
    return exists(path + DATA_SUFFIX).catch(() => true);
  }

  /**
   * Checks the digest of the whole file, and who vouches for it.
   *
   * @param vouching undefined: nobody is asked
   * @param keeps true: a wrong file is kept, because some of its bytes are unproven
   * @throws MillraceError `checksum-mismatch`, `bad-signature`: the file has then been deleted, unless
   *   it is kept
   */
  async check(
    check: FileCheck,
    length: number,
    vouching?: Vouching,
    keeps = false,
  ): Promise<Checked> {
    if (!check.needed && vouching === undefined) return NOT_CHECKED;
    this.#options.report.checking();
    const { signal } = this.#options.context;
    try {
      const digest = await check.whole(this.file, length, this.#hasher);
      return { digest, vouch: await vouching?.vouch(this.file, length, signal) };
    } catch (error) {
      if (!keeps && isWrongFile(error)) await this.discard();
      throw error;
    }
  }

  /** Gives the complete file its final name. @returns the path @throws MillraceError */
  async finish(length: number): Promise<string> {
    const { file } = this;
    await this.#closeHasher();
    await file.finish(length);
    this.#file = undefined;
    this.#finished = file;
    return file.path;
  }

  /** Releases the complete file as `PartialFile.settle` does. Does nothing if there is none. */
  async settle(written: boolean): Promise<void> {
    await this.#finished?.settle(written);
    this.#finished = undefined;
  }

  /** Deletes the partial file. */
  async discard(): Promise<void> {
    await this.#closeHasher();
    await this.#file?.discard();
    this.#file = undefined;
  }

  /** Leaves the stored bytes for resuming, or deletes them if the download cannot be resumed. */
  async leave(): Promise<void> {
    await this.#closeHasher();
    await this.#file?.leave();
  }

  async #openAt(path: string, opening: Opening): Promise<PartialFile> {
    const { request, context, onLost, report } = this.#options;
    const { header, ownUrls } = opening;
    await this.#close();
    const file = await PartialFile.open({
      path,
      overwrite: request.overwrite,
      held: request.held,
      repairs: request.older?.repairs,
      header,
      // A comparison finds out whether they belong to the same file.
      keepUnproven: true,
      isPage: opening.isPage && !PAGE_NAME.test(path),
      ownUrls,
      signal: context.signal,
      onVerify: () => context.onEvent({ kind: 'check', what: 'partial file' }),
      onStored: () => {
        this.#options.onStored();
        this.#hasher?.advance();
      },
      onLost,
    });
    this.#file = file;
    const { earlier } = file;
    // From here on this download owns the partial file, and may resume or delete it.
    if (earlier === undefined || ownUrls.includes(earlier.url)) this.#path = path;
    const known = strongest([...request.digests, ...opening.digests]);
    this.#hasher = new FileHasher(file, known === undefined ? [] : [known.algorithm]);
    this.#hasher.advance();
    await opening.checkEarlier(file);
    if (file.startedOver && header.length !== undefined) report.note(noteOf('partial-of-other'));
    this.#path = path;
    return file;
  }

  /** Leaves the partial file as it is. */
  async #close(): Promise<void> {
    await this.#closeHasher();
    await this.#file?.close();
    this.#file = undefined;
  }

  async #closeHasher(): Promise<void> {
    await this.#hasher?.close();
    this.#hasher = undefined;
  }
}

/**
 * Keeps the stored bytes of an earlier run if the journal names this file.
 *
 * @throws MillraceError `different-file` if they belong to another download, and must stay
 */
async function keepOwn(file: PartialFile, url: string): Promise<void> {
  const { earlier } = file;
  if (earlier === undefined || earlier.url === url || file.stored.bytes === 0) return;
  if (!file.overwrite) {
    throw new MillraceError('different-file', {
      code: 'belongs-to',
      values: { path: file.dataPath, url: earlier.url },
    });
  }
  await file.startOver();
  await file.adopt();
  file.startedOver = true;
}
