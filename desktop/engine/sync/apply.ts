/**
 * Makes a folder match a manifest (WORLDS 4.2): surveys its contents, fetches files that differ,
 * and puts each file in its place once its digest is right. Unfinished files are in a separate
 * folder inside, so that another run can resume them.
 */

import { copyFile, lstat, mkdir, open, readdir, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, parse, sep } from 'node:path';
import { asMillraceError, type ErrorCode, MillraceError } from '@millrace/shared/base/errors';
import type { Manifest, SyncContent, SyncFile } from '@millrace/shared/sync/manifest';
import { type LocalEntry, planSync, type SyncPlan, type Wanted } from '@millrace/shared/sync/plan';
import { fileUrl, STAGING } from '@millrace/shared/sync/sync-path';
import { fileError } from '../files/file-error.ts';
import { lockFile } from '../files/file-lock.ts';
import { readArchive } from './archive.ts';
import { digestOf, SMALL_BYTES } from './describe-file.ts';
import type { SyncFetcher } from './fetcher.ts';
import { inParallel } from './in-parallel.ts';
import { type PinnedFolder, pinFolder } from './pinned-folder.ts';
import { Placer } from './placer.ts';
import { survey } from './survey.ts';

export interface ApplyOptions {
  /** The folder, which is made if it is missing. */
  readonly dir: string;
  /** Remove entries that are not in the manifest. */
  readonly remove: boolean;
  /** Only report the changes, without making them. */
  readonly dryRun: boolean;
  /** Fetch the archive if every file has to be fetched. */
  readonly archive: boolean;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: ApplyProgress) => void) | undefined;
}

export interface ApplyProgress {
  readonly files: number;
  readonly ofFiles: number;
  readonly ofBytes: number;
}

export interface Applied {
  readonly plan: SyncPlan;
  /** Fetched files, including those from an archive. */
  readonly fetched: number;
  readonly copied: number;
  readonly settled: number;
  readonly removed: number;
  readonly failed: readonly { readonly path: string; readonly error: MillraceError }[];
}

const SMALL_AT_A_TIME = 24;
/** Most bytes of small files in memory at a time. */
const SMALL_BUDGET_BYTES = 32 * 1024 * 1024;
const LARGE_AT_A_TIME = 2;
const LOCK = 'lock';
/** Suffix of files that are complete or being written, and not yet in their place. */
const STAGED = '.staged';
const OBSTACLES_NAMED = 5;

/** Failures that make further work pointless. */
const FATAL: readonly ErrorCode[] = ['interrupted', 'disk-full'];

/**
 * Makes the folder match the manifest.
 *
 * @param manifest as `parseManifest` returns it
 * @throws MillraceError `file-exists` if another entry is in the way; `bad-option` for a folder
 *   that must not be cleared; `file-in-use`, `disk-full`, `interrupted`. Failures of single files
 *   are in the result.
 */
export async function applyManifest(
  manifest: Manifest,
  fetcher: SyncFetcher,
  options: ApplyOptions,
): Promise<Applied> {
  const { dir, remove, dryRun, signal } = options;
  if (!dryRun) await mkdir(dir, { recursive: true }).catch((error) => raise(error, dir));
  const root = await realpath(dir).catch(() => dir);
  if (remove) refuseRemoval(root, manifest);
  const look = () => survey(root, manifest, { whole: remove, signal });
  const plan = planOf(manifest, await look(), remove);
  if (dryRun) return { plan, fetched: 0, copied: 0, settled: 0, removed: 0, failed: [] };
  const pinned = await openStaging(root);
  const staging = pinned.path;
  let unlock = async () => {};
  try {
    unlock = await lockFile(join(staging, LOCK));
    await clearStaged(staging);
    const run = new Run(manifest, fetcher, options, root, staging);
    const result = await run.carryOut(plan, async () => planOf(manifest, await look(), remove));
    if (result.failed.length === 0) await rm(join(root, STAGING), { recursive: true, force: true });
    return result;
  } finally {
    await unlock();
    pinned.close();
  }
}

function planOf(
  manifest: Manifest,
  local: ReadonlyMap<string, LocalEntry>,
  remove: boolean,
): SyncPlan {
  const plan = planSync(manifest, local, { remove, modes: process.platform !== 'win32' });
  const { obstacles } = plan;
  if (obstacles.length === 0) return plan;
  const named = obstacles.slice(0, OBSTACLES_NAMED).map(({ path, kind }) => `${path} (${kind})`);
  const more = obstacles.length > named.length ? ', ...' : '';
  throw new MillraceError(
    'file-exists',
    `these differ from the manifest, and are removed only with --delete: ${named.join(', ')}${more}`,
  );
}

/** Refuses `--delete` for folders that no user means to empty, or that would end up empty. */
function refuseRemoval(root: string, { files }: Manifest): void {
  if (files.length === 0) {
    throw new MillraceError('bad-manifest', 'it has no files: --delete would leave nothing');
  }
  const home = homedir();
  const above = root === parse(root).root || home === root || home.startsWith(root + sep);
  if (above) throw new MillraceError('bad-option', `--delete is not allowed for ${root}`);
}

async function openStaging(root: string): Promise<PinnedFolder> {
  const staging = join(root, STAGING);
  try {
    await mkdir(staging, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if ((await lstat(staging)).isDirectory()) return pinFolder(staging);
  } catch (error) {
    throw fileError(error, staging);
  }
  throw new MillraceError('file-exists', { code: 'not-folder', values: { path: staging } });
}

/** Deletes the staged files of a run that was killed. */
async function clearStaged(staging: string): Promise<void> {
  const names = await readdir(staging);
  for (const name of names) if (name.endsWith(STAGED)) await rm(join(staging, name));
}

class Run {
  readonly #manifest: Manifest;
  readonly #fetcher: SyncFetcher;
  readonly #options: ApplyOptions;
  readonly #root: string;
  readonly #staging: string;
  readonly #placer: Placer;
  readonly #failed: { path: string; error: MillraceError }[] = [];
  readonly #end = new AbortController();
  readonly #signal: AbortSignal;
  #fetched = 0;
  #copied = 0;
  #settled = 0;
  #removed = 0;
  #staged = 0;

  constructor(
    manifest: Manifest,
    fetcher: SyncFetcher,
    options: ApplyOptions,
    root: string,
    staging: string,
  ) {
    this.#manifest = manifest;
    this.#fetcher = fetcher;
    this.#options = options;
    this.#root = root;
    this.#staging = staging;
    this.#placer = new Placer(root);
    this.#signal = AbortSignal.any([options.signal, this.#end.signal]);
  }

  /** @param again surveys the folder again and makes a new plan */
  async carryOut(first: SyncPlan, again: () => Promise<SyncPlan>): Promise<Applied> {
    let plan = first;
    for (const path of plan.clear) await this.#remove(path);
    if (this.#options.archive && this.#isFirst(plan)) {
      await this.#unpack(plan);
      plan = await again();
    }
    for (const path of plan.folders) await this.#placer.folder(path);
    this.#tell(plan);
    const small = plan.fetch.filter(({ file }) => file.size <= SMALL_BYTES);
    const large = plan.fetch.filter(({ file }) => file.size > SMALL_BYTES);
    const limits = {
      atATime: SMALL_AT_A_TIME,
      weight: ({ file }: Wanted) => file.size,
      budget: SMALL_BUDGET_BYTES,
    };
    const ended = await Promise.allSettled([
      inParallel(small, limits, (wanted) => this.#trying(plan, wanted, () => this.#small(wanted))),
      inParallel(large, { atATime: LARGE_AT_A_TIME }, (wanted) =>
        this.#trying(plan, wanted, () => this.#large(wanted)),
      ),
      inParallel(plan.copy, { atATime: LARGE_AT_A_TIME }, (wanted) =>
        this.#trying(plan, wanted, () => this.#copy(wanted)),
      ),
    ]);
    for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
    if (this.#signal.aborted) throw new MillraceError('interrupted');
    await inParallel(plan.settle, { atATime: SMALL_AT_A_TIME }, async (file) => {
      await this.#placer.settle(file);
      this.#settled++;
    });
    // Remove only after every file succeeded: a removed file may be the user's only copy.
    if (this.#failed.length === 0) for (const path of plan.remove) await this.#remove(path);
    return {
      plan: first,
      fetched: this.#fetched,
      copied: this.#copied,
      settled: this.#settled,
      removed: this.#removed,
      failed: this.#failed,
    };
  }

  /** Returns true if the manifest has an archive and every file has to be fetched. */
  #isFirst({ fetchFiles }: SyncPlan): boolean {
    const { archive, files } = this.#manifest;
    return archive !== undefined && fetchFiles === files.length;
  }

  async #unpack(plan: SyncPlan): Promise<void> {
    const { archive, files, url } = this.#manifest;
    if (archive === undefined) return;
    const path = await this.#download(fileUrl(url, archive.path), archive);
    const wanted = new Map(files.map((file) => [file.path, file]));
    const place = async (staged: string, file: SyncFile) => {
      await this.#placer.place(staged, file);
      this.#fetched++;
      this.#tell(plan);
    };
    await readArchive(path, wanted, this.#stagePath(), place, this.#signal);
    await rm(path, { force: true });
  }

  async #small(wanted: Wanted): Promise<void> {
    const { file } = wanted;
    const body =
      file.size === 0
        ? Buffer.alloc(0)
        : await this.#fetcher.small(fileUrl(this.#manifest.url, file.path), file, this.#signal);
    for (const place of wanted.places) {
      const staged = this.#stagePath();
      const out = await open(staged, 'wx', 0o600).catch((error) => raise(error, staged));
      try {
        await out.writeFile(body);
      } catch (error) {
        throw fileError(error, staged);
      } finally {
        await out.close();
      }
      await this.#placer.place(staged, place);
      this.#fetched++;
    }
  }

  async #large({ file, places }: Wanted): Promise<void> {
    const path = await this.#download(fileUrl(this.#manifest.url, file.path), file);
    const [first, ...others] = places as [SyncFile, ...SyncFile[]];
    for (const other of others) {
      const staged = this.#stagePath();
      await copyFile(path, staged).catch((error) => raise(error, staged));
      await this.#placer.place(staged, other);
      this.#fetched++;
    }
    await this.#placer.place(path, first);
    this.#fetched++;
  }

  /** @returns path of the content, whose digest is right */
  async #download(url: string, content: SyncContent): Promise<string> {
    const path = join(this.#staging, content.sha256);
    // An earlier run may have ended just before it moved the file to its place.
    if ((await digestOf(path, content.size, this.#signal)) === content.sha256) return path;
    if (content.size > SMALL_BYTES) {
      return this.#fetcher.large(url, content, this.#staging, content.sha256, this.#signal);
    }
    const body = await this.#fetcher.small(url, content, this.#signal);
    await rm(path, { force: true });
    const out = await open(path, 'wx', 0o600).catch((error) => raise(error, path));
    await out.writeFile(body).finally(() => out.close());
    return path;
  }

  /** Copies a file of the folder, or fetches it if the copy shows that the file has changed. */
  async #copy({ file, from, places }: Wanted & { readonly from: string }): Promise<void> {
    for (const [index, place] of places.entries()) {
      const staged = this.#stagePath();
      await copyFile(join(this.#root, from), staged).catch((error) => raise(error, staged));
      const found = await digestOf(staged, file.size, this.#signal);
      if (found !== file.sha256) {
        await rm(staged, { force: true });
        const rest = { file, places: places.slice(index) };
        return file.size > SMALL_BYTES ? this.#large(rest) : this.#small(rest);
      }
      await this.#placer.place(staged, place);
      this.#copied++;
    }
  }

  async #remove(path: string): Promise<void> {
    if (await this.#placer.remove(path)) this.#removed++;
  }

  /** Records the failure of one file, so that the others are still fetched. */
  async #trying(plan: SyncPlan, { file }: Wanted, act: () => Promise<void>): Promise<void> {
    if (this.#signal.aborted) return;
    try {
      await act();
      this.#tell(plan);
    } catch (thrown) {
      const error = asMillraceError(thrown);
      if (this.#signal.aborted) return;
      if (FATAL.includes(error.code)) {
        this.#end.abort(error);
        throw error;
      }
      this.#failed.push({ path: file.path, error });
    }
  }

  #tell({ fetchFiles, fetchBytes }: SyncPlan): void {
    this.#options.onProgress?.({ files: this.#fetched, ofFiles: fetchFiles, ofBytes: fetchBytes });
  }

  #stagePath(): string {
    return join(this.#staging, `${this.#staged++}${STAGED}`);
  }
}

function raise(error: unknown, path: string): never {
  throw fileError(error, path);
}
