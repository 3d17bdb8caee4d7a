/**
 * All purges, as caches and peers see them: the table of generations, the log that the nodes of a
 * network share, and the file that keeps both if there is a disk tier.
 */

import { randomBytes } from 'node:crypto';
import type { Log } from '@millrace/shared/base/log';
import { withoutDigest } from '@millrace/shared/cdn/chunks/version-tag';
import { Generations, type Purge } from '@millrace/shared/cdn/upkeep/generations';
import {
  type LoggedPurge,
  PurgeLog,
  type PurgeLogSnapshot,
} from '@millrace/shared/cdn/upkeep/purge-log';
import { type PurgeTarget, prefixesOf } from '@millrace/shared/cdn/upkeep/purge-target';
import { asLabel, readLabels } from '@millrace/shared/http/fields/labels';
import { PurgeFile, type PurgeLine } from './purge-file.ts';

/** Most purges told with a request to another node: more than can cover any URL. */
const MAX_TOLD = 40;
const TOLD = /^(u|v|a|p\d{1,4}|l[\w.%~!*'()-]{1,400})=([A-Za-z0-9~-]{1,64})$/;

/** Generations reserved for one run of the edge: more than it can begin. */
const RUN = 2 ** 32;

/** The mark of a record on disk. */
export type DiskMark = readonly [era: string, generation: number];

export class Purges {
  readonly #generations = new Generations();
  readonly #shared = new PurgeLog();
  #file: PurgeFile | undefined;
  #era = '';
  /**
   * Resolves once the other nodes have told the purges that this one has missed: until then no
   * cache entry of an earlier run may be used. Undefined if there is nothing to wait for.
   */
  settling: Promise<void> | undefined;
  /** Called with each purge that is carried out. */
  onPurge: (target: PurgeTarget) => void = () => {};

  /**
   * Restores the purges that an earlier run has left beside its disk tier.
   *
   * @param dir of the disk tier; without one, purges last as long as the process and its caches
   * @throws if the folder cannot be used
   */
  static async open(dir: string | undefined, log: Log): Promise<Purges> {
    const purges = new Purges();
    if (dir === undefined) return purges;
    const file = new PurgeFile(dir, log, () => purges.#lines());
    purges.#file = file;
    for (const line of await file.read()) purges.#restore(line);
    // Records may bear generations that were begun, but not written down before a crash.
    purges.#generations.advanceTo((Math.floor(purges.current / RUN) + 1) * RUN);
    // The era must be on disk before any record that bears it.
    await file.add([]);
    return purges;
  }

  /** Generation of a fetch that begins now. */
  get current(): number {
    return this.#generations.current;
  }

  /** Purges remembered. */
  get count(): number {
    return this.#generations.count;
  }

  /** Returns true if entries fetched in a generation may no longer be used. */
  isVoid(url: string, tag: string | undefined, generation: number): boolean {
    return this.#generations.isVoid(url, tag, generation);
  }

  /**
   * Returns true if what is known of a file may no longer be used because of a purge of a label. It
   * concerns the pointer alone: chunks of a version that the origin confirms are right, and some
   * nodes have them without labels.
   *
   * @param fields of the origin's answer
   */
  isVoidByLabel(fields: Readonly<Record<string, string>>, generation: number): boolean {
    return this.#generations.isVoidByLabel(() => readLabels(fields), generation);
  }

  /** Addition to the name of a question about a file, as `era`: its labels are not known yet. */
  eraOfQuestion(url: string): string {
    const newest = this.#generations.newestForUnknown(url);
    return newest === 0 ? '' : ` ${newest}`;
  }

  /** Addition to the name of a fetch, so that no request joins one from before a purge. */
  era(url: string, tag: string | undefined): string {
    const newest = this.#generations.newest(url, tag);
    return newest === 0 ? '' : ` ${newest}`;
  }

  diskMark(generation: number): DiskMark {
    return [this.#era, generation];
  }

  /** Returns the generation of a record on disk; negative if unknown, which voids the record. */
  readMark(meta: unknown): number {
    const { mark } = meta as { mark?: DiskMark };
    return mark !== undefined && mark[0] === this.#era ? mark[1] : -1;
  }

  /**
   * Purges a target: in memory by the time the call returns, on disk when it resolves.
   *
   * @param network whether all nodes of the network are to learn of it
   */
  async purge(purge: LoggedPurge, network: boolean): Promise<void> {
    const lines = this.#carryOut(purge);
    if (network && !this.#shared.has(purge.id)) {
      this.#shared.add(purge);
      lines.push({ type: 'logged', purge });
    }
    await this.#keep(lines);
  }

  /** The log that is shared with the network. */
  get shared(): PurgeLogSnapshot {
    return this.#shared.snapshot;
  }

  get digest(): string {
    return this.#shared.digest;
  }

  /** Carries out the purges that another node remembers and this one has missed. */
  async learn(theirs: PurgeLogSnapshot): Promise<number> {
    const { purges, all } = this.#shared.merge(theirs);
    const lines: PurgeLine[] = [{ type: 'dropped', dropped: this.#shared.snapshot.dropped }];
    if (all) lines.push(...this.#carryOut(newPurge({ kind: 'all' }, Date.now())));
    for (const purge of purges) {
      lines.push(...this.#carryOut(purge), { type: 'logged', purge });
    }
    await this.#keep(lines);
    return purges.length + (all ? 1 : 0);
  }

  /**
   * Returns the purges that cover a file, for the node that is asked for it: if that node does not
   * know them, its copy of the file may be one that was purged here.
   *
   * @returns undefined if there are none
   */
  told(url: string, tag: string | undefined): string | undefined {
    const purges = this.#generations.covering(url, tag);
    if (purges.length === 0) return undefined;
    return purges.map(({ target, id }) => `${mark(target)}=${id}`).join(' ');
  }

  /**
   * Returns the newest purge of a label of a file, to be told to the node that has named the file: its
   * copy may be older than that. The text is as that of `told`.
   */
  toldOfLabels(fields: Readonly<Record<string, string>>): string | undefined {
    const purge = this.#generations.newestOfLabels(readLabels(fields));
    return purge === undefined ? undefined : `${mark(purge.target)}=${purge.id}`;
  }

  /** Carries out the purges that an asking node has told. */
  hear(url: string, tag: string | undefined, told: string | undefined): void {
    if (told === undefined) return;
    const lines: PurgeLine[] = [];
    for (const item of told.split(' ').slice(0, MAX_TOLD)) {
      const [, form = '', id = ''] = TOLD.exec(item) ?? [];
      const target = targetOf(form, url, tag);
      if (target !== undefined) lines.push(...this.#carryOut({ target, id, at: 0 }));
    }
    // Should a purge be lost, the asking node will tell it again.
    this.#keep(lines).catch(() => {});
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #carryOut({ target, id }: LoggedPurge): PurgeLine[] {
    const purge = this.#generations.purge(target, id);
    if (purge === undefined) return [];
    this.onPurge(target);
    return [{ type: 'purge', purge }];
  }

  async #keep(lines: readonly PurgeLine[]): Promise<void> {
    if (lines.length > 0) await this.#file?.add(lines);
  }

  #restore(line: PurgeLine): void {
    switch (line.type) {
      case 'era':
        this.#era = line.era;
        return this.#generations.advanceTo(line.current);
      case 'purge':
        return this.#generations.restore(line.purge as Purge);
      case 'logged':
        return this.#shared.add(line.purge as LoggedPurge);
      case 'dropped':
        // Dropped purges have been carried out: nothing has been missed.
        this.#shared.merge({ dropped: line.dropped, purges: [] });
    }
  }

  #lines(): PurgeLine[] {
    const { dropped, purges } = this.#shared.snapshot;
    return [
      { type: 'era', era: this.#era, current: this.current },
      { type: 'dropped', dropped },
      ...[...this.#generations.purges()].map((purge) => ({ type: 'purge' as const, purge })),
      ...purges.map((purge) => ({ type: 'logged' as const, purge })),
    ];
  }
}

/** Makes a new purge. @param at Unix milliseconds */
export function newPurge(target: PurgeTarget, at: number): LoggedPurge {
  return { target, id: randomBytes(12).toString('hex'), at };
}

/** Abbreviates a target, for a node that has the URL and version that it covers. */
function mark(target: PurgeTarget): string {
  if (target.kind === 'prefix') return `p${target.prefix.length}`;
  if (target.kind === 'label') return `l${encodeURIComponent(target.label)}`;
  return target.kind[0] as string;
}

function targetOf(form: string, url: string, tag: string | undefined): PurgeTarget | undefined {
  if (form === 'u') return { kind: 'url', url };
  if (form === 'v') {
    const version = tag === undefined ? undefined : withoutDigest(tag);
    return version === undefined ? undefined : { kind: 'version', url, tag: version };
  }
  if (form === 'a') return { kind: 'all' };
  if (form.startsWith('l')) return labelOf(form.slice(1));
  const prefix = prefixesOf(url).find(({ length }) => form === `p${length}`);
  return prefix === undefined ? undefined : { kind: 'prefix', prefix };
}

function labelOf(text: string): PurgeTarget | undefined {
  try {
    const label = decodeURIComponent(text);
    return asLabel(label) === label ? { kind: 'label', label } : undefined;
  } catch {
    return undefined;
  }
}
