/**
 * The versions of files that a pull has seen at its URLs, and the bytes of the upload that each header
 * vouches for. A file that is overwritten in place gives its new bytes to answers that began before,
 * under their old headers. So the header of an answer vouches for the bytes that had come from its URL
 * when it was asked for, and not for later ones, its own included.
 */

import type { Validators } from '../../http/fields/validators.ts';

/** Version of the file at one URL. Offsets are of the upload, bytes. */
export interface SeenVersion {
  /** Names the URL. */
  readonly of: string;
  readonly validators: Validators;
  /** Length of the file; undefined: not stated. */
  readonly length?: number | undefined;
  /** Where the first answer of this version began. */
  readonly since: number;
  /** Where the last one began: nothing vouches for bytes of the URL from here on. */
  readonly from: number;
}

/** A header that names a version: that of a URL's file, when `from` bytes of the upload were stored. */
export type ShownVersion = Pick<SeenVersion, 'of' | 'validators' | 'length' | 'from'>;

/** Most versions that are handed from one pull to the next. */
export const MAX_SEEN = 16;

export class SeenVersions {
  /** By their URLs, those that were shown last at the end. */
  readonly #all = new Map<string, SeenVersion>();

  /** @param seen those of a former pull of the upload */
  constructor(seen: readonly SeenVersion[] = []) {
    for (const version of seen) this.#all.set(version.of, version);
  }

  /** Returns the version of a URL's file, if bytes of it are stored or on their way. */
  get(of: string): SeenVersion | undefined {
    return this.#all.get(of);
  }

  /** Notes the header of an answer that is of the version known so far, if one is known. */
  shown({ of, validators, length, from }: ShownVersion): void {
    const known = this.#all.get(of);
    this.#all.delete(of);
    this.#all.set(of, {
      ...{ of, from, validators: known?.validators ?? validators },
      ...{ length: known?.length ?? length, since: known?.since ?? from },
    });
  }

  /** Notes that the bytes of the upload from an offset on have been removed. */
  cut(end: number): void {
    for (const [of, version] of this.#all) {
      if (version.since >= end) this.#all.delete(of);
      else if (version.from > end) this.#all.set(of, { ...version, from: end });
    }
  }

  /** Returns those that were shown last, at most `MAX_SEEN`. */
  list(): readonly SeenVersion[] {
    return [...this.#all.values()].slice(-MAX_SEEN);
  }
}
