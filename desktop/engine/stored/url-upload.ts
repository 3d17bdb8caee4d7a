/**
 * Stores a file that stands at a URL in several depots: the first one pulls it from there, and the
 * others from the first, so that the file's server sends it once. The digests of blocks are asked of
 * the depots, and those of all copies must agree.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { blockBytesFor, type Exnode, rootOf } from '@millrace/shared/exnode/exnode';
import type { Findings } from '@millrace/shared/exnode/findings';
import { blocksOf } from '../upload/depot-client.ts';
import { fileLinks } from '../upload/file-links.ts';
import { Retry } from '../upload/retry.ts';
import type { KeptHistory } from '../upload/spread/kept-history.ts';
import { DepotFailure } from '../upload/spread/pull-run.ts';
import { leavesDepot, storeDocuments } from '../upload/spread/store-documents.ts';
import type { DepotAccess, Spread, SpreadObserver } from '../upload/spread-upload.ts';
import { type AugmentObserver, augmentExnode } from './augment-exnode.ts';
import { type FirstCopy, type FirstCopyOptions, storeFirst } from './first-copy.ts';
import { type KeptCopies, sha256Of, UrlProgress } from './url-progress.ts';

/** Observer of an upload from a URL. */
export interface UrlUploadObserver extends SpreadObserver, Pick<AugmentObserver, 'wrong'> {
  fed(at: { readonly depot: string }, error: MillraceError): void;
  /** Called when a depot cannot fetch the file from its server, and another one is to do that. */
  unable(edge: string, error: MillraceError): void;
}

export interface UrlUploadOptions extends Omit<FirstCopyOptions, 'access' | 'observe'> {
  /** Depots of different addresses. */
  readonly depots: readonly DepotAccess[];
  /** Whole copies, 1 to the number of depots. */
  readonly copies: number;
  /** Remembers how depots have done. */
  readonly history: KeptHistory;
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
    const progress = new UrlProgress(options);
    const first = await firstExnode(options, copy);
    const kept = await progress.read(first, forMs, signal);
    const done = await addCopies(own, kept, access, progress);
    await compareCopies(options, done, kept.findings);
    const replicas = done.extents.flatMap((extent) => extent.replicas);
    const places = new Set(replicas.map(({ read }) => new URL(read).origin));
    // A depot that could not fetch the file may be dead: only its copy shows that it is not.
    const isThere = ({ edge }: DepotAccess) => places.has(edge) || !unable.has(edge);
    const left = depots.filter((one) => !failed.has(one.edge) && isThere(one));
    const documents = await storeDocuments(done, { depots: left, forMs, signal, observe });
    return {
      exnode: { ...done, documents },
      ...{ name: done.name, sha256: copy.sha256, bodyKey: undefined },
      ...(await fileLinks(done, documents, signal)),
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

/** Adds copies until there are enough: their depots pull from the first one. */
async function addCopies(
  options: UrlUploadOptions,
  { exnode, findings }: KeptCopies,
  first: DepotAccess,
  progress: UrlProgress,
): Promise<Exnode> {
  const { depots, copies, forMs, retryMs, observe, source, history } = options;
  const { signal, now, wallClock } = options;
  const there = [...findings.values()].filter(({ state }) => state === 'there').length;
  if (there >= copies) return exnode;
  const before = there * source.bytes;
  const augmented = await augmentExnode({
    ...{ exnode, findings, copies, retryMs, signal, now, wallClock, history },
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
async function compareCopies(
  options: UrlUploadOptions,
  exnode: Exnode,
  before: Findings,
): Promise<void> {
  const { pieceBytes, hexes } = exnode.blocks;
  const replicas = exnode.extents.flatMap((extent) => extent.replicas);
  const places = replicas.map(({ read }) => new URL(read).origin);
  const twice = places.find((place, i) => places.indexOf(place) !== i);
  if (twice !== undefined) {
    throw new MillraceError('bad-option', `two of the depots are one: ${twice}`);
  }
  for (const replica of replicas.slice(1)) {
    // Its depot has told the right digest of the whole file in an earlier run.
    if (before.get(replica)?.state === 'silent') continue;
    const { manage = '', read } = replica;
    const told = await patient(options).run(() => blocksOf(manage, pieceBytes, options.signal));
    if (told.length === hexes.length && told.every((hex, i) => hex === hexes[i])) continue;
    throw new MillraceError('content-mismatch', `${new URL(read).host} has other blocks`);
  }
}

function patient({ retryMs, signal, now, observe }: UrlUploadOptions): Retry {
  return new Retry({ retryMs, signal, now, onRetry: observe.retried.bind(observe) });
}
