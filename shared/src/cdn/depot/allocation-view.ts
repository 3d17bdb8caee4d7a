/** Documents in which an edge tells the operator of its depot of files. */

/** An allocation as operators see it: without anything that would let them use its links. */
export interface AllocationView {
  readonly id: string;
  readonly owner: string;
  readonly name?: string | undefined;
  /** Bytes that are stored. */
  readonly bytes: number;
  readonly complete: boolean;
  /** SHA-256 of the content, hexadecimal, once it is complete. */
  readonly sha256?: string | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly damaged: boolean;
  readonly blocked: boolean;
}

/** Answer to a request for the list. */
export interface AllocationList {
  /** Selected allocations, and their bytes. */
  readonly count: number;
  readonly bytes: number;
  /** The first of them, as many as one answer takes. */
  readonly allocations: readonly AllocationView[];
}

/** Answer to a request to delete or block. */
export interface TakenDown {
  /** Digests that were blocked, or are no longer. */
  readonly digests: readonly string[];
  readonly allocations: readonly AllocationView[];
  /** Selected allocations that are to be changed yet: the same request again takes them. */
  readonly left: number;
}
