/**
 * Uploads a file to several depots, as copies or in parts, and makes the exNode that describes it.
 * Each part is an upload of its own, which continues after a failure as any other. All are
 * remembered until the exNode is written, so that the same command never sends again what is
 * stored.
 */

import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { rangeBytes } from '@millrace/shared/base/byte-range';
import type { Millis } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  type Exnode,
  type ExnodeReplica,
  type Extent,
  rootOf,
} from '@millrace/shared/exnode/exnode';
import { formatExnode } from '@millrace/shared/exnode/exnode-text';
import { type PlannedExtent, planSpread } from '@millrace/shared/exnode/spread';
import { digestFile, type FileDigests } from './block-digests.ts';
import { storeText } from './store-text.ts';
import { type Uploaded, type UploadObserver, type UploadOptions, upload } from './upload.ts';

export interface DepotAccess {
  /** Base URL of the depot. */
  readonly edge: string;
  readonly token: string;
}

export interface SpreadOptions extends Omit<UploadOptions, 'edge' | 'token' | 'part'> {
  /** Depots of different addresses. */
  readonly depots: readonly DepotAccess[];
  /** Copies of each byte, 1 to the number of depots. */
  readonly copies: number;
}

export interface Spread {
  readonly exnode: Exnode;
  /** Links to the copies of the exNode that may be given away. */
  readonly links: readonly string[];
  /** Links to the whole file, for any program; none if it is stored in parts. */
  readonly wholes: readonly string[];
  /** First end of a lease, Unix milliseconds. */
  readonly expires: Millis;
  /** Forgets where the parts are stored: the exNode is written. */
  readonly forget: () => Promise<void>;
}

/** An upload of an extent to a depot. */
interface Task {
  readonly extent: PlannedExtent;
  readonly depot: number;
}

/**
 * Uploads a file.
 *
 * @throws MillraceError as `upload`: of the first depot that fails for good
 */
export async function spreadUpload(options: SpreadOptions): Promise<Spread> {
  const { path, depots, copies, name, signal } = options;
  const { size } = await stat(path).catch((cause: unknown) => {
    throw new MillraceError('bad-option', `${path} cannot be read`, { cause });
  });
  const plan = planSpread(size, depots.length, copies);
  const tasks = plan.flatMap((extent) => extent.depots.map((depot): Task => ({ extent, depot })));
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const progress = new CommonProgress(options.observe, size * copies);
  const failed = (error: unknown): never => {
    stop.abort(error);
    throw error;
  };
  const [digests, ...stored] = await Promise.all([
    digestFile(path, both).catch(failed),
    ...depots.map((depot, index) => {
      const own = tasks.filter((task) => task.depot === index);
      return storeAll({ ...options, signal: both }, depot, own, progress).catch(failed);
    }),
  ]);
  if (digests.bytes !== size) throw new MillraceError('file-has-changed');
  const found = new Map(stored.flatMap((one) => [...one]));
  checkWholes(found, digests);
  const extents = plan.map(({ start, end }): Extent => {
    const replicas = tasks.flatMap((task) =>
      task.extent.start === start ? replicaOf(found.get(task) as Uploaded) : [],
    );
    return { start, end, replicas };
  });
  const { sha256, blocks } = digests;
  const root = rootOf(size, blocks, (bytes) => createHash('sha256').update(bytes).digest('hex'));
  const shared: Exnode = { name, size, sha256, blocks, root, extents };
  const documents = await storeDocuments(shared, options);
  return {
    exnode: { ...shared, documents },
    links: documents.map(({ read }) => read),
    wholes: copies === depots.length ? (extents[0]?.replicas ?? []).map(({ read }) => read) : [],
    expires: Math.min(
      ...[...documents, ...extents.flatMap(({ replicas }) => replicas)].map((r) => r.expires ?? 0),
    ),
    forget: async () => {
      for (const one of found.values()) await one.forget();
    },
  };
}

/** Uploads the extents of one depot, one after the other. */
async function storeAll(
  options: SpreadOptions,
  { edge, token }: DepotAccess,
  tasks: readonly Task[],
  progress: CommonProgress,
): Promise<Map<Task, Uploaded>> {
  const found = new Map<Task, Uploaded>();
  for (const task of tasks) {
    const { start, end } = task.extent;
    const observe = progress.observer();
    const part = { start, end };
    const own = { ...options, edge, token, part, observe, keepsRecord: true };
    found.set(task, await upload(own));
  }
  return found;
}

/** Stores the copy of the exNode to give away at each depot. */
function storeDocuments(
  exnode: Exnode,
  { depots, forMs, signal }: SpreadOptions,
): Promise<ExnodeReplica[]> {
  const text = formatExnode(exnode, true);
  const name = `${exnode.name}.exnode`;
  return Promise.all(
    depots.map(async ({ edge, token }) => {
      const { read, write, manage, expires } = await storeText({
        ...{ edge, token, name, text, forMs, signal },
      });
      return { read, at: 0, expires: Date.parse(expires), write, manage };
    }),
  );
}

function replicaOf({ link, write, manage, expires }: Uploaded): ExnodeReplica {
  return { read: link, at: 0, expires: Date.parse(expires), write, manage };
}

/** @throws MillraceError `file-has-changed` if a copy has not the digest that the file has now */
function checkWholes(found: ReadonlyMap<Task, Uploaded>, { bytes, sha256 }: FileDigests): void {
  for (const [{ extent }, uploaded] of found) {
    if (rangeBytes(extent) === bytes && uploaded.sha256 !== sha256) {
      throw new MillraceError('file-has-changed');
    }
  }
}

/** Adds up the progress of several uploads. */
class CommonProgress {
  readonly #observe: UploadObserver;
  readonly #bytes: number;
  readonly #ends: number[] = [];

  constructor(observe: UploadObserver, bytes: number) {
    this.#observe = observe;
    this.#bytes = bytes;
  }

  /** Makes the observer of one more upload. */
  observer(): UploadObserver {
    const index = this.#ends.push(0) - 1;
    const at = (end: number) => {
      this.#ends[index] = end;
      return this.#ends.reduce((sum, one) => sum + one, 0);
    };
    return {
      begun: (_bytes, stored) => {
        const end = at(stored);
        if (index === 0) this.#observe.begun(this.#bytes, end);
        else this.#observe.sent(end);
      },
      sent: (end) => this.#observe.sent(at(end)),
      retried: (error, pauseMs) => this.#observe.retried(error, pauseMs),
      anew: () => this.#observe.anew(),
    };
  }
}
