/** Keeps the exNode of a file from a URL while copies are added, so that the same command goes on. */

import { createHash } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError } from '@millrace/shared/base/errors';
import {
  type Exnode,
  type ExnodeReplica,
  type Extent,
  MAX_EXNODE_BYTES,
} from '@millrace/shared/exnode/exnode';
import { formatExnode, parseExnode } from '@millrace/shared/exnode/exnode-text';
import type { Finding, Findings } from '@millrace/shared/exnode/findings';
import { newName, replaceFile } from '@millrace/shared/node/files/replace-file';
import { extend } from '../upload/depot-client.ts';
import { isGone } from '../upload/reserve.ts';
import type { UrlSource } from './url-source.ts';

/** Longest wait for a depot that has a copy of an earlier run. */
const ASK_MS: Millis = 30_000;

/** Computes a SHA-256, lower-case hexadecimal. */
export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Copies that are stored, and whether their depots answer. */
export interface KeptCopies {
  readonly exnode: Exnode;
  readonly findings: Findings;
}

export class UrlProgress {
  readonly #folder: string;
  readonly #file: string;

  /** @param of folder for the state of programs, and the file at its URL */
  constructor(of: { readonly state: string; readonly source: UrlSource }) {
    const { url, versionId } = of.source;
    const name = sha256Of(Buffer.from(`${url}\n${versionId}`)).slice(0, 32);
    this.#folder = join(of.state, 'uploads');
    this.#file = join(this.#folder, `${name}.exnode`);
  }

  /**
   * Reads what an earlier run has stored, and gives the leases their ends, counted from now. Copies that
   * their depots do not have any more are left out.
   *
   * @param first exNode of the first copy, which is all there is without an earlier run
   * @throws the signal's reason
   */
  async read(first: Exnode, forMs: Millis, signal: AbortSignal): Promise<KeptCopies> {
    const findings = new Map<ExnodeReplica, Finding>();
    const [own] = first.extents as [Extent];
    const [copied] = own.replicas as [ExnodeReplica];
    findings.set(copied, { state: 'there' });
    const earlier = await this.#earlier(first, copied);
    for (const replica of earlier?.extents[0]?.replicas.slice(1) ?? []) {
      const found = await extended(replica, forMs, signal);
      if (found !== undefined) findings.set(found.replica, found.finding);
    }
    const extents = [{ ...own, replicas: [...findings.keys()] }];
    return { exnode: { ...first, begun: earlier?.begun, extents }, findings };
  }

  async write(exnode: Exnode): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // For its user only: it gives all rights to what is stored.
    await replaceFile(this.#file, formatExnode(exnode, false));
  }

  async remove(): Promise<void> {
    for (const path of [this.#file, newName(this.#file)]) await rm(path, { force: true });
  }

  /** Reads the exNode of an earlier run; undefined: there is none, or it has another first copy. */
  async #earlier(first: Exnode, copied: ExnodeReplica): Promise<Exnode | undefined> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    if (text === '' || text.length > MAX_EXNODE_BYTES) return undefined;
    try {
      const exnode = parseExnode(text, sha256Of);
      const isSame = exnode.extents[0]?.replicas[0]?.read === copied.read;
      return isSame && exnode.root === first.root ? exnode : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Gives a lease another end. @returns undefined if the depot does not have the copy any more */
async function extended(
  replica: ExnodeReplica,
  forMs: Millis,
  signal: AbortSignal,
): Promise<{ readonly replica: ExnodeReplica; readonly finding: Finding } | undefined> {
  const { manage = '' } = replica;
  try {
    const both = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
    const end = await extend(manage, Math.ceil(forMs / 1000), both);
    return { replica: { ...replica, expires: Date.parse(end) }, finding: { state: 'there' } };
  } catch (thrown) {
    signal.throwIfAborted();
    if (isGone(thrown)) return undefined;
    return { replica, finding: { state: 'silent', error: asMillraceError(thrown) } };
  }
}
