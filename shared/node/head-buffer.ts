/** Collects the head of an answer, and the part of the body that arrives with it. */

import { MillraceError } from '../src/base/errors.ts';
import { MAX_INTERIM_ANSWERS } from '../src/base/limits.ts';
import { parseBrokenHead } from '../src/http/messages/mended-head.ts';
import { type MessageHead, parseMessageHead } from '../src/http/messages/message-head.ts';

/** Longest response head, in bytes. */
const MAX_HEAD_BYTES = 32 * 1024;
/** Longest head that is mended, in bytes: other clients accept as much. */
const MAX_MENDED_BYTES = 128 * 1024;
/**
 * Most bytes per read of a head, some of which may belong to the body. Bytes of the body must be
 * copied, and arrive even if the request is abandoned: so one read is no larger than most heads.
 */
const READ_BYTES = 8 * 1024;
/** Size of the buffer: the longest strict head and the beginning of the body that comes with it. */
const BUFFER_BYTES = MAX_HEAD_BYTES + READ_BYTES;
const HEAD_END = Buffer.from('\r\n\r\n');
/** Ends of heads whose lines end without CR. */
const BARE_ENDS = [Buffer.from('\n\n'), Buffer.from('\n\r\n')];

/** Makes the error for interim answers (1xx) that no answer follows. */
export function tooManyInterim(): MillraceError {
  return new MillraceError('malformed-response', 'too many interim answers');
}

export class HeadBuffer {
  readonly #mends: boolean;
  #memory = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #bytes = 0;
  #rest: Buffer = this.#memory.subarray(0, 0);
  /** Interim answers since the last request. */
  #interim = 0;

  /** @param mends reads long heads, and heads that break the rules but are not ambiguous */
  constructor(mends = false) {
    this.#mends = mends;
  }

  /** The beginning of the body that came with the last head; the next head overwrites it. */
  get rest(): Buffer {
    return this.#rest;
  }

  /**
   * Memory for the next read. It is never empty, even when the buffer is full and must not be read
   * into.
   */
  get room(): Uint8Array {
    if (this.#mends && this.#bytes + READ_BYTES > this.#memory.length) this.#grow();
    const from = Math.min(this.#bytes, this.#memory.length - 1);
    return this.#memory.subarray(from, from + READ_BYTES);
  }

  clear(): void {
    this.#bytes = 0;
    this.#interim = 0;
    this.#rest = this.#memory.subarray(0, 0);
  }

  /**
   * Takes the bytes just read.
   *
   * @param read `room`, or memory that was handed out before the last answer was finished
   * @param onInterim told of interim responses (1xx), which precede the answer
   * @returns the head once it is complete
   * @throws MillraceError `malformed-response`
   */
  push(
    read: Uint8Array,
    onInterim: ((head: MessageHead) => void) | undefined,
  ): MessageHead | undefined {
    const { buffer, byteOffset } = this.#memory;
    if (read.buffer !== buffer || read.byteOffset !== byteOffset + this.#bytes) {
      this.#memory.set(read, this.#bytes);
    }
    let searchedTo = Math.max(0, this.#bytes - (HEAD_END.length - 1));
    this.#bytes += read.length;
    for (;;) {
      const bytes = this.#memory.subarray(0, this.#bytes);
      const found = this.#findEnd(bytes, searchedTo);
      if (found === undefined) {
        if (this.#bytes < (this.#mends ? MAX_MENDED_BYTES : MAX_HEAD_BYTES)) return undefined;
        throw new MillraceError('malformed-response', { code: 'header-too-long' });
      }
      const [end, bodyAt] = found;
      const text = bytes.toString('latin1', 0, end);
      const head = this.#mends ? parseBrokenHead(text) : parseMessageHead(text);
      if (head.status >= 200) {
        this.#rest = bytes.subarray(bodyAt);
        return head;
      }
      // This is an interim response: the answer follows, perhaps in the same bytes.
      this.#memory.copyWithin(0, bodyAt, this.#bytes);
      this.#bytes -= bodyAt;
      searchedTo = 0;
      if (++this.#interim > MAX_INTERIM_ANSWERS) throw tooManyInterim();
      onInterim?.(head);
    }
  }

  /** Finds the end of the head, and the beginning of the body. */
  #findEnd(bytes: Buffer, from: number): readonly [end: number, bodyAt: number] | undefined {
    const strict = bytes.indexOf(HEAD_END, from);
    if (!this.#mends) return strict < 0 ? undefined : [strict, strict + HEAD_END.length];
    // Line breaks before the status line are not part of the head (RFC 9112 2.2).
    let start = 0;
    while (bytes[start] === 13 || bytes[start] === 10) start++;
    const ends = [HEAD_END, ...BARE_ENDS].flatMap((end) => {
      const at = bytes.indexOf(end, Math.max(start, from));
      return at < 0 ? [] : [[at, at + end.length] as const];
    });
    return ends.sort((a, b) => a[0] - b[0])[0];
  }

  #grow(): void {
    const larger = Buffer.allocUnsafeSlow(2 * this.#memory.length);
    this.#memory.copy(larger, 0, 0, this.#bytes);
    this.#memory = larger;
  }
}
