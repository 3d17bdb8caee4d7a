/**
 * Uploads a file to several depots, as copies or in parts, and makes the exNode that describes it.
 * Each byte is sent once: depots pull further copies from those that have one.
 * Each part is an upload of its own, which continues after a failure as any other. All are
 * remembered until the exNode is written, so that the same command never sends again what is
 * stored.
 */

import { createHash } from 'node:crypto';
import { rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  type Exnode,
  type ExnodeReplica,
  type Extent,
  rootOf,
} from '@millrace/shared/exnode/exnode';
import { NEUTRAL_NAME } from '@millrace/shared/exnode/seal';
import { type Placed, Placement, type Way } from '@millrace/shared/exnode/spread/placement';
import { goOnWith, planSpread } from '@millrace/shared/exnode/spread/spread';
import { sleep } from '@millrace/shared/node/sleep';
import { openSource } from '../archive/open-source.ts';
import type { UploadSource } from '../archive/upload-source.ts';
import { sealedMembers } from '../seal/sealed-head.ts';
import { digestSource, type FileDigests } from './block-digests.ts';
import { EncryptedFile } from './encrypted-file.ts';
import { fileLinks } from './file-links.ts';
import { CommonProgress } from './spread/common-progress.ts';
import { EarlierParts } from './spread/earlier-parts.ts';
import type { KeptHistory } from './spread/kept-history.ts';
import { LeftParts } from './spread/left-parts.ts';
import { pullExtent, reserveExtent } from './spread/pull-extent.ts';
import { PullQuestions } from './spread/pull-questions.ts';
import { DepotFailure } from './spread/pull-run.ts';
import { leavesDepot, storeDocuments } from './spread/store-documents.ts';
import { type Uploaded, type UploadObserver, type UploadOptions, upload } from './upload.ts';

export interface DepotAccess {
  /** Base URL of the depot. */
  readonly edge: string;
  readonly token: string;
}

export interface SpreadObserver extends UploadObserver {
  /** Called when a depot has failed for good, and the other depots store what it was to store. */
  left(edge: string, error: MillraceError): void;
  /** Called when another depot has taken over an extent because this one is slow. */
  slow?(edge: string): void;
  /** Called when a depot cannot pull a part from others that have it, and it is sent to it as well. */
  fed?(at: { readonly depot: string }, error: MillraceError): void;
  /** Called when there is one more copy of the whole file. @param of the copies that are wanted, from 2 */
  copied?(copies: number, of: number): void;
}

/** Time after which a depot that has nothing to do looks for slow ones again. */
const LOOK_MS: Millis = 500;
/** Reason for which an upload ends that another depot has taken over. */
const MOVED = new MillraceError('interrupted', 'another depot stores it');

type EachUpload = 'edge' | 'token' | 'part' | 'observe' | 'encrypted';

export interface SpreadOptions extends Omit<UploadOptions, EachUpload> {
  /** Depots of different addresses. */
  readonly depots: readonly DepotAccess[];
  /** Copies of each byte, 1 to the number of depots. */
  readonly copies: number;
  /** True: depots get the ciphertext of the file, and learn neither its name nor its key. */
  readonly encrypts?: boolean;
  /** Remembers how depots have done. */
  readonly history: KeptHistory;
  readonly observe: SpreadObserver;
}

type OwnOptions = Omit<SpreadOptions, 'encrypts'> &
  Pick<UploadOptions, 'encrypted'> & { readonly source: UploadSource };

export interface Spread {
  /** The owner's exNode. */
  readonly exnode: Exnode;
  /** Name and digest of the plain file. */
  readonly name: string;
  readonly sha256: string;
  /** The links to give away, with the key or the root of the exNode: to the file or to the exNode. */
  readonly links: readonly string[];
  /** Links to the file, put together by an edge, for any program; none where no edge does that. */
  readonly files: readonly string[];
  /** Links to whole copies at one depot each, for any program; none if it is stored in parts. */
  readonly wholes: readonly string[];
  /** Key of what these links give; undefined: it is not encrypted. */
  readonly bodyKey: Uint8Array | undefined;
  /** First end of a lease, Unix milliseconds. */
  readonly expires: Millis;
  /** Forgets where the parts are stored: the exNode is written. */
  readonly forget: () => Promise<void>;
}

/**
 * Uploads a file. A depot that refuses or fails for good is left if the others can store as many
 * copies.
 *
 * @throws MillraceError as `upload`
 */
export async function spreadUpload({ encrypts, ...options }: SpreadOptions): Promise<Spread> {
  const { path, state, signal } = options;
  const source = options.source ?? (await openSource(path, signal));
  try {
    if (encrypts !== true) return await spread({ ...options, source });
    const encrypted = await EncryptedFile.open(path, source, state);
    try {
      return await spread({ ...options, source, encrypted });
    } finally {
      await encrypted.close();
    }
  } finally {
    await options.history.save();
    if (options.source === undefined) await source.close();
  }
}

async function spread(options: OwnOptions): Promise<Spread> {
  const { source, depots, copies, name, encrypted, signal } = options;
  const neutral = encrypted === undefined ? name : NEUTRAL_NAME;
  const size = source.state.bytes;
  const parts = new EarlierParts({ ...options, keyId: encrypted?.keyId, file: source.state });
  const planned = planSpread(size, depots.length, copies);
  const begun = await parts.find(copies === depots.length ? [] : planned);
  const plan = goOnWith(planned, (extent) => begun.get(extent) ?? []);
  const placement = new Placement(plan, depots.length);
  const left = new LeftParts(parts, begun);
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const progress = new CommonProgress(options.observe, size * copies);
  const failed = (error: unknown): never => {
    stop.abort(error);
    throw error;
  };
  const found = new Map<Placed, Uploaded>();
  const stored = { ...options, name: neutral, signal: both };
  const [read] = await Promise.all([
    encrypted === undefined ? digestSource(source, both).catch(failed) : undefined,
    storeAll(stored, placement, found, progress, left).catch(failed),
  ]);
  const digests = read ?? (await (encrypted as EncryptedFile).digests(signal));
  // Parts are read one after the other: each is right by itself, whatever happens between them.
  await source.check();
  // Of an encrypted file, the digests of blocks were compared before each byte was sent.
  if (encrypted === undefined) checkWholes(found, digests);
  const extents = plan.map((extent): Extent => {
    const { start, end } = extent;
    const replicas = placement.tasks.flatMap((task) =>
      task.extent === extent ? replicaOf(found.get(task) as Uploaded) : [],
    );
    return { start, end, replicas };
  });
  const { sha256, blocks } = digests;
  const root = rootOf(size, blocks, (bytes) => createHash('sha256').update(bytes).digest('hex'));
  const own = encrypted && sealedMembers(encrypted.key, { name, sha256, root });
  const shared: Exnode = { ...{ name, size, sha256, blocks, root, extents }, ...own };
  const meant = new Set(planned.flatMap((extent) => extent.depots));
  const stores = new Set(placement.tasks.map((task) => task.depot));
  // A depot that was too slow for all its extents would be as slow with the exNode.
  const takers = depots.filter(
    (_, depot) => !placement.isLost(depot) && (stores.has(depot) || !meant.has(depot)),
  );
  const documents = await storeDocuments(shared, { ...options, depots: takers });
  options.history.confirm();
  return {
    exnode: { ...shared, documents },
    ...{ name, sha256, bodyKey: encrypted?.bodyKey },
    ...(await fileLinks(shared, documents, signal)),
    wholes: copies === depots.length ? (extents[0]?.replicas ?? []).map(({ read }) => read) : [],
    expires: Math.min(
      ...[...documents, ...extents.flatMap(({ replicas }) => replicas)].map((r) => r.expires ?? 0),
    ),
    forget: async () => {
      for (const one of found.values()) await one.forget();
      await encrypted?.forget();
    },
  };
}

/**
 * Uploads all extents: to each depot one after the other, to all depots at once. Beside that, each pulls
 * those that others have.
 */
async function storeAll(
  options: OwnOptions,
  placement: Placement,
  found: Map<Placed, Uploaded>,
  progress: CommonProgress,
  left: LeftParts,
): Promise<void> {
  const { depots, copies, source, history, observe, now, signal } = options;
  const keyId = options.encrypted?.keyId;
  const underWay = new Map<Placed, AbortController>();
  /** Depots that have pulled something. */
  const pullers = new Set<number>();
  let whole = 0;
  /** Ends the waits of depots that have nothing to do. */
  let wake = new AbortController();
  const wakeAll = () => {
    wake.abort();
    wake = new AbortController();
  };
  const questions = new PullQuestions({ depots, placement, signal, onClosed: () => wakeAll() });
  /** Ends the upload to a slow depot: another one stores the extent. */
  const endSlow = (task: Placed | undefined) => task && underWay.get(task)?.abort(MOVED);
  const onStored = (task: Placed, uploaded: Uploaded) => {
    found.set(task, uploaded);
    endSlow(placement.onStored(task, now()));
    const { wholeCopies } = placement;
    if (copies > 1 && wholeCopies > whole) observe.copied?.(wholeCopies, copies);
    whole = Math.max(whole, wholeCopies);
  };
  type Own = Omit<UploadOptions, 'part' | 'edge' | 'token'> & DepotAccess;
  const pull = async (task: Placed, own: Own) => {
    const { extent, depot } = task;
    const from = placement.sourcesOf(task).flatMap((one) => found.get(one) ?? []);
    const outcome = await pullExtent({ ...own, source, keyId, extent, from });
    if ('copy' in outcome) {
      pullers.add(depot);
      onStored(task, outcome.copy);
      history.kept(own.edge);
      return;
    }
    const { failure, pulledBytes, giveUp } = outcome;
    if (failure.kind === 'wrong') await giveUp();
    if (pulledBytes > 0) pullers.add(depot);
    placement.onPullFailed(task, !pullers.has(depot), now());
    if (placement.has(task)) observe.fed?.({ depot: own.edge }, failure.error);
  };
  /** Notes a failure of a depot. @throws the error if it ends the upload */
  const onFailed = (depot: number, thrown: unknown) => {
    const error = thrown instanceof DepotFailure ? thrown.error : thrown;
    // The end of all uploads is no fault of this depot.
    const isDepots = thrown instanceof DepotFailure || leavesDepot(error);
    if (signal.aborted || !isDepots || !placement.onLost(depot)) throw error;
    const { edge } = depots[depot] as DepotAccess;
    observe.left(edge, error as MillraceError);
    history.suspect(edge, error as MillraceError);
    // Its other uploads end as well.
    for (const one of underWay.keys()) if (one.depot === depot) endSlow(one);
  };
  const store = async (task: Placed, way: Way): Promise<void> => {
    const access = depots[task.depot] as DepotAccess;
    const { start, end } = task.extent;
    const { observer, forget } = progress.add();
    const abort = new AbortController();
    underWay.set(task, abort);
    let [before, begunAt] = [0, now()];
    const observed: UploadObserver = {
      ...observer,
      begun(bytes, stored) {
        [before, begunAt] = [stored, now()];
        observer.begun(bytes, stored);
      },
      reserved: (link) => questions.ask(task, link),
      acknowledged: (stored) => endSlow(placement.onBytes(task, stored, now())),
    };
    const both = AbortSignal.any([signal, abort.signal]);
    const own = { ...options, ...access, observe: observed, signal: both };
    try {
      await left.begin(task);
      if (way === 'pull') await pull(task, own);
      else {
        const reason = questions.takeReason(task);
        if (reason !== undefined) observe.fed?.({ depot: access.edge }, reason);
        onStored(task, await upload({ ...own, part: { start, end }, keepsRecord: true }));
        history.kept(access.edge, end - start - before, now() - begunAt);
      }
    } catch (thrown) {
      if (placement.has(task)) onFailed(task.depot, thrown);
    } finally {
      underWay.delete(task);
    }
    const isWaiting = placement.has(task);
    if (isWaiting && found.has(task)) return;
    forget();
    if (isWaiting || placement.isLost(task.depot)) return;
    observe.slow?.(access.edge);
    history.suspect(access.edge, 'slow');
    left.leave(task);
  };
  // So a depot that takes no copy is known before the first one is stored.
  const reserved = depots.map(async (access, depot) => {
    const [task] = placement.tasks.filter((one) => one.depot === depot);
    if (copies === 1 || copies < depots.length || depot === 0 || task === undefined) return;
    const { extent } = task;
    await reserveExtent({ ...options, ...access, keyId, extent }).catch((thrown: unknown) =>
      onFailed(depot, thrown),
    );
  });
  const storeAt = async (depot: number, way: Way) => {
    await reserved[depot];
    while (!placement.isDone && !placement.isLost(depot)) {
      const task = placement.next(depot, way, now());
      if (task !== undefined) {
        await store(task, way);
        // Others may pull what it has, or are sent what it cannot pull.
        wakeAll();
      } else await sleep(LOOK_MS, AbortSignal.any([signal, wake.signal])).catch(() => {});
      signal.throwIfAborted();
    }
    // All is stored, or what a lost depot was to store waits for the others.
    wakeAll();
  };
  const ways: readonly Way[] = copies > 1 ? ['send', 'pull'] : ['send'];
  try {
    await Promise.all(depots.flatMap((_, depot) => ways.map((way) => storeAt(depot, way))));
  } finally {
    questions.end();
  }
  await left.settle(placement.tasks, (depot) => placement.isLost(depot));
}

function replicaOf({ link, write, manage, expires }: Uploaded): ExnodeReplica {
  return { read: link, at: 0, expires: Date.parse(expires), write, manage };
}

/** @throws MillraceError `file-has-changed` if a copy has not the digest that the file has now */
function checkWholes(found: ReadonlyMap<Placed, Uploaded>, { bytes, sha256 }: FileDigests): void {
  for (const [{ extent }, uploaded] of found) {
    if (rangeBytes(extent) === bytes && uploaded.sha256 !== sha256) {
      throw new MillraceError('file-has-changed');
    }
  }
}
