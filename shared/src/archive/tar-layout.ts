/** Where the bytes of a tar come from, at any position, before a byte of it is written. */

import { inBlocks, TAR_BLOCK_BYTES, type TarMember, tarHeader } from './tar-header.ts';

/** Zeros at the end of a tar. */
const END_BYTES = 2 * TAR_BLOCK_BYTES;

/** A run of bytes of one kind. */
export type TarRun =
  | { readonly kind: 'header'; readonly bytes: Uint8Array }
  /** Bytes of a member's content, from an offset in it. */
  | {
      readonly kind: 'content';
      readonly member: TarMember;
      readonly from: number;
      readonly bytes: number;
    }
  | { readonly kind: 'zeros'; readonly bytes: number };

export class TarLayout {
  readonly members: readonly TarMember[];
  /** Length of the tar, bytes. */
  readonly bytes: number;
  /** Start of each member's header. */
  readonly #starts: Float64Array;

  /** @param members in their order, no two of one path */
  constructor(members: readonly TarMember[]) {
    this.members = members;
    this.#starts = new Float64Array(members.length);
    let at = 0;
    for (const [i, member] of members.entries()) {
      this.#starts[i] = at;
      at += tarHeader(member).length + inBlocks(member.bytes);
    }
    this.bytes = at + END_BYTES;
  }

  /**
   * Finds what begins at a position.
   *
   * @param position in bytes, 0 to below `bytes`
   * @returns a run of at least one byte
   */
  runAt(position: number): TarRun {
    const index = this.#memberAt(position);
    const member = this.members[index];
    if (member === undefined) return { kind: 'zeros', bytes: this.bytes - position };
    const header = tarHeader(member);
    let at = position - (this.#starts[index] as number);
    if (at < header.length) return { kind: 'header', bytes: header.subarray(at) };
    at -= header.length;
    if (at < member.bytes) {
      return { kind: 'content', member, from: at, bytes: member.bytes - at };
    }
    const end = this.#starts[index + 1] ?? this.bytes;
    return { kind: 'zeros', bytes: end - position };
  }

  /** Finds the last member that starts at the position or before; -1 for a tar without members. */
  #memberAt(position: number): number {
    let [low, high] = [-1, this.members.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] as number) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
