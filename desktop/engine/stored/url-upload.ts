/**
 * Stores a file that stands at a URL in several depots: the first one pulls it from there, and the
 * others from the first, so that the file's server sends it once. The digests of blocks are asked of
 * the depots, and those of all copies must agree.
 */

import { createHash } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  blockBytesFor,
  type Exnode,
  type ExnodeReplica,
  MAX_EXNODE_BYTES,
  rootOf,
} from '@millrace/shared/exnode/exnode';
import { formatExnode, parseExnode } from '@millrace/shared/exnode/exnode-text';
import type { Findings } from '@millrace/shared/exnode/findings';
import { linkWith } from '@millrace/shared/exnode/seal';
import { newName, replaceFile } from '@millrace/shared/node/files/replace-file';
import { blocksOf, stateOfStored } from '../upload/depot-client.ts';
import { isGone } from '../upload/reserve.ts';
import { Retry } from '../upload/retry.ts';
import {
  type DepotAccess,
  leavesDepot,
  type Spread,
  type SpreadObserver,
  storeDocuments,
} from '../upload/spread-upload.ts';
import { type AugmentObserver, augmentExnode } from './augment-exnode.ts';
import { type FirstCopy, type FirstCopyOptions, storeFirst } from './first-copy.ts';
import { DepotFailure } from './pull-run.ts';

/** Observer of an upload from a URL. */
export interface UrlUploadObserver extends SpreadObserver, Pick<AugmentObserver, 'fed' | 'wrong'> {
  /** Called when a depot cannot fetch the file from its server, and another one is to do that. */
  unable(edge: string, error: MillraceError): void;
}

export interface UrlUploadOptions extends Omit<FirstCopyOptions, 'access' | 'observe'> {
  /** Depots of different addresses. */
  readonly depots: readonly DepotAccess[];
  /** Whole copies, 1 to the number of depots. */
  readonly copies: number;
  readonly observe: UrlUploadObserver;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/**
 * Stores the first copy at the first depot that can pull the file.
 *
 * @throws MillraceError the failure of the last depot; as `storeFirst`
 */
export async function storeFirstAtAny(
  options: Pick<UrlUploadOptions, 'depots' | 'observe'> &
    Omit<FirstCopyOptions, 'access' | 'observe'>,
): Promise<{ readonly access: DepotAccess; readonly copy: FirstCopy }> {
  const { depots, signal, observe } = options;
  for (const [i, access] of depots.entries()) {
    try {
      return { access, copy: await storeFirst({ ...options, access }) };
    } catch (thrown) {
      signal.throwIfAborted();
      const error = thrown instanceof DepotFailure ? thrown.error : asMillraceError(thrown);
      const isOurs = !(thrown instanceof DepotFailure) && !leavesDepot(error);
      if (isOurs || i === depots.length - 1) throw error;
      observe.unable(access.edge, error);
    }
  }
  throw new MillraceError('too-few-depots', 'none is named');
}

/**
 * Stores copies of a file.
 *
 * @throws MillraceError as `storeFirst` and `augmentExnode`; `content-mismatch` if copies differ;
 *   `bad-option` if two addresses are one depot
 */
export async function urlUpload(options: UrlUploadOptions): Promise<Spread> {
  const { source, depots, copies, signal, observe, forMs } = options;
  const total = copies * source.bytes;
  const [failed, unable] = [new Set<string>(), new Set<string>()];
  const own: UrlUploadOptions = {
    ...options,
    observe: {
      ...observeAll(observe),
      begun: (_bytes, stored) => observe.begun(total, stored),
      left(edge, error) {
        failed.add(edge);
        observe.left(edge, error);
      },
      unable(edge, error) {
        unable.add(edge);
        observe.unable(edge, error);
      },
    },
  };
  const { access, copy } = await storeFirstAtAny(own);
  try {
    const progress = new Progress(options);
    const first = await firstExnode(options, copy);
    const kept = (await progress.read(first, signal)) ?? first;
    const done = await addCopies(own, kept, access, progress);
    await compareCopies(options, done);
    const replicas = done.extents.flatMap((extent) => extent.replicas);
    const places = new Set(replicas.map(({ read }) => new URL(read).origin));
    // One that could not fetch the file may be dead: only its copy shows that it is not.
    const isThere = ({ edge }: DepotAccess) => places.has(edge) || !unable.has(edge);
    const left = depots.filter((one) => !failed.has(one.edge) && isThere(one));
    const documents = await storeDocuments(done, { depots: left, forMs, signal, observe });
    return {
      exnode: { ...done, documents },
      ...{ name: done.name, sha256: copy.sha256, bodyKey: undefined },
      links: documents.map(({ read }) => linkWith(read, done)),
      wholes: replicas.map(({ read }) => read),
      expires: Math.min(...[...documents, ...replicas].map(({ expires = 0 }) => expires)),
      async forget() {
        await copy.forget();
        await progress.remove();
      },
    };
  } finally {
    await copy.unlock();
  }
}

/** Makes the exNode of the first copy. */
async function firstExnode(options: UrlUploadOptions, copy: FirstCopy): Promise<Exnode> {
  const { source, name } = options;
  const { bytes: size } = source;
  const pieceBytes = blockBytesFor(size);
  const hexes = await patient(options).run(() => blocksOf(copy.manage, pieceBytes, options.signal));
  if (hexes.length !== Math.ceil(size / pieceBytes)) {
    throw new MillraceError('malformed-response', 'the depot gives digests of another file');
  }
  const blocks = { algorithm: 'sha256', pieceBytes, hexes } as const;
  const { link: read, write, manage, sha256 } = copy;
  const replica = { read, at: 0, expires: Date.parse(copy.expires), write, manage };
  const root = rootOf(size, blocks, sha256Of);
  return {
    name,
    size,
    sha256,
    blocks,
    root,
    extents: [{ start: 0, end: size, replicas: [replica] }],
  };
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Adds copies until there are enough: their depots pull from the first one. */
async function addCopies(
  options: UrlUploadOptions,
  exnode: Exnode,
  first: DepotAccess,
  progress: Progress,
): Promise<Exnode> {
  const { depots, copies, forMs, retryMs, signal, now, wallClock, observe, source } = options;
  const replicas = exnode.extents.flatMap((extent) => extent.replicas);
  if (replicas.length >= copies) return exnode;
  const findings: Findings = new Map(replicas.map((replica) => [replica, { state: 'there' }]));
  const before = replicas.length * source.bytes;
  const augmented = await augmentExnode({
    ...{ exnode, findings, copies, retryMs, signal, now, wallClock },
    // Its own copy may be listed under another address of the same depot.
    depots: depots.filter(({ edge }) => edge !== first.edge),
    end: wallClock() + forMs,
    write: (changed) => progress.write(changed),
    observe: {
      ...observeAll(observe),
      begun: () => {},
      planned: () => {},
      sent: (bytes) => observe.sent(before + bytes),
      added: () => {},
    },
  });
  if (augmented.failure !== undefined) throw augmented.failure;
  return augmented.exnode;
}

/** Methods of an observer as functions. */
function observeAll(observe: UrlUploadObserver): UrlUploadObserver {
  return {
    begun: (bytes, stored) => observe.begun(bytes, stored),
    sent: (end) => observe.sent(end),
    retried: (error, pauseMs) => observe.retried(error, pauseMs),
    anew: () => observe.anew(),
    left: (edge, error) => observe.left(edge, error),
    unable: (edge, error) => observe.unable(edge, error),
    fed: (fill, error) => observe.fed(fill, error),
    wrong: (replica, error) => observe.wrong(replica, error),
  };
}

/**
 * Compares the digests of blocks that the depots tell: those of the exNode are the first one's word.
 *
 * @throws MillraceError `content-mismatch`; `bad-option` if two copies are at one depot
 */
async function compareCopies(options: UrlUploadOptions, exnode: Exnode): Promise<void> {
  const { pieceBytes, hexes } = exnode.blocks;
  const replicas = exnode.extents.flatMap((extent) => extent.replicas);
  const places = replicas.map(({ read }) => new URL(read).origin);
  const twice = places.find((place, i) => places.indexOf(place) !== i);
  if (twice !== undefined) {
    throw new MillraceError('bad-option', `two of the depots are one: ${twice}`);
  }
  for (const { manage = '', read } of replicas.slice(1)) {
    const told = await patient(options).run(() => blocksOf(manage, pieceBytes, options.signal));
    if (told.length === hexes.length && told.every((hex, i) => hex === hexes[i])) continue;
    throw new MillraceError('content-mismatch', `${new URL(read).host} has other blocks`);
  }
}

function patient({ retryMs, signal, now, observe }: UrlUploadOptions): Retry {
  return new Retry({ retryMs, signal, now, onRetry: observe.retried.bind(observe) });
}

/** The exNode while copies are added, so that the same command goes on after a kill. */
class Progress {
  readonly #folder: string;
  readonly #file: string;

  constructor({ state, source: { url, versionId } }: UrlUploadOptions) {
    const name = createHash('sha256').update(`${url}\n${versionId}`).digest('hex').slice(0, 32);
    this.#folder = join(state, 'uploads');
    this.#file = join(this.#folder, `${name}.exnode`);
  }

  /**
   * Reads what an earlier run has stored; replicas that their depots do not have any more are left out.
   *
   * @param first exNode of the first copy
   * @returns undefined if nothing is there, or is of another first copy
   */
  async read(first: Exnode, signal: AbortSignal): Promise<Exnode | undefined> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    if (text === '' || text.length > MAX_EXNODE_BYTES) return undefined;
    let exnode: Exnode;
    try {
      exnode = parseExnode(text, sha256Of);
    } catch {
      return undefined;
    }
    const [extent] = exnode.extents;
    const [own] = first.extents;
    const [copied] = own?.replicas ?? [];
    const isSame = exnode.root === first.root && extent?.replicas[0]?.read === copied?.read;
    if (!isSame || extent === undefined || copied === undefined) return undefined;
    const replicas = [copied];
    for (const replica of extent.replicas.slice(1)) {
      if (await isStored(replica, signal)) replicas.push(replica);
    }
    return { ...first, begun: exnode.begun, extents: [{ ...extent, replicas }] };
  }

  async write(exnode: Exnode): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // For its user only: it gives all rights to what is stored.
    await replaceFile(this.#file, formatExnode(exnode, false));
  }

  async remove(): Promise<void> {
    for (const path of [this.#file, newName(this.#file)]) await rm(path, { force: true });
  }
}

/** Returns false for a copy that its depot does not have any more. */
async function isStored({ manage = '' }: ExnodeReplica, signal: AbortSignal): Promise<boolean> {
  try {
    return (await stateOfStored(manage, signal)).complete;
  } catch (error) {
    signal.throwIfAborted();
    return !isGone(error);
  }
}
