/**
 * Handles request targets with bytes above ASCII. curl and others send the names of files as they
 * are typed; RFC 9112 3.2 does not allow such targets, and strict parsers refuse the whole request.
 */

const SPACE = 0x20;
const CR = 0x0d;
const LF = 0x0a;
const FIRST_RAW = 0x80;
/**
 * Empty lines that a server should ignore (RFC 9112 2.2), a method, a space, and the ASCII bytes at
 * the beginning of the target.
 */
const UP_TO_FAULT = /^[\r\n]*[A-Z-]{1,32} [\x21-\x7e]*$/;
const HEX = '0123456789ABCDEF';

/**
 * Returns true if a parser has failed at a byte above ASCII in the target of the first request in
 * `bytes`. The bytes before the fault must look like a request line: bytes of a body or of an
 * earlier request would have a second space or a line end before the fault.
 *
 * @param bytes from the first byte of a request on
 * @param fault offset of the byte that the parser has refused
 */
export function hasRawTarget(bytes: Uint8Array, fault: number): boolean {
  const refused = bytes[fault];
  if (refused === undefined || refused < FIRST_RAW || fault > MAX_TARGET_BYTES) return false;
  return UP_TO_FAULT.test(latin1(bytes.subarray(0, fault)));
}

/** Longest request line that is collected, in bytes. */
export const MAX_TARGET_BYTES = 32 * 1024;

/**
 * Collects the beginning of a request line that comes in several packets. A parser reports a fault
 * only by its offset in the last packet, when the earlier packets are already gone.
 */
export class BegunLine {
  #bytes: Uint8Array | undefined = new Uint8Array();

  /** Bytes of the line so far; undefined once the line has ended or is too long to parse again. */
  get bytes(): Uint8Array | undefined {
    return this.#bytes;
  }

  /** Adds a packet. @param packet next bytes, all of them in the head of one request */
  add(packet: Uint8Array): void {
    const before = this.#bytes;
    if (before === undefined) return;
    const added = before.length === 0 ? withoutEmptyLines(packet) : packet;
    const length = before.length + added.length;
    if (length > MAX_TARGET_BYTES || added.includes(LF)) {
      this.#bytes = undefined;
      return;
    }
    // Copy the bytes into one array: otherwise a client that sends single bytes would make us hold
    // an object for each byte.
    const bytes = new Uint8Array(length);
    bytes.set(before);
    bytes.set(added, before.length);
    this.#bytes = bytes;
  }

  /**
   * Starts again with the bytes behind the last head that ends in a packet. Such a head ends with the
   * packet's last line feed, unless that one ends a line of the next request.
   *
   * @param packet in which a head ends, of requests without bodies
   */
  restartBehindHead(packet: Uint8Array): void {
    const last = packet.lastIndexOf(LF);
    if (last + 1 === packet.length) return this.restart();
    const isOnly = packet.lastIndexOf(LF, last - 1) < 0 || last === 0;
    const before = packet[last - 1] === CR ? last - 2 : last - 1;
    const isEmptyLine = isOnly || packet[before] === LF;
    const rest = packet.length - last - 1;
    this.#bytes = isEmptyLine && rest <= MAX_TARGET_BYTES ? packet.slice(last + 1) : undefined;
  }

  /** Starts again, because the next packet begins another request. */
  restart(): void {
    if (this.#bytes?.length !== 0) this.#bytes = new Uint8Array();
  }
}

function withoutEmptyLines(packet: Uint8Array): Uint8Array {
  let from = 0;
  while (packet[from] === CR || packet[from] === LF) from++;
  return packet.subarray(from);
}

/**
 * Percent-encodes the bytes above ASCII of a request's target (RFC 3986 2.1), one by one, as the
 * client should have done. Everything after the target stays as it is.
 *
 * @param bytes from the first byte of a request on, for which `hasRawTarget` holds
 * @returns undefined while the end of the target has not come
 */
export function encodeRawTarget(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const from = bytes.indexOf(SPACE) + 1;
  const end = targetEnd(bytes, from);
  if (from === 0 || end === undefined) return undefined;
  let raw = 0;
  for (let i = from; i < end; i++) if ((bytes[i] as number) >= FIRST_RAW) raw++;
  const encoded = new Uint8Array(bytes.length + 2 * raw);
  encoded.set(bytes.subarray(0, from));
  let at = from;
  for (let i = from; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte < FIRST_RAW) encoded[at++] = byte;
    else {
      encoded[at++] = 0x25;
      encoded[at++] = HEX.charCodeAt(byte >> 4);
      encoded[at++] = HEX.charCodeAt(byte & 15);
    }
  }
  encoded.set(bytes.subarray(end), at);
  return encoded;
}

function targetEnd(bytes: Uint8Array, from: number): number | undefined {
  for (let i = from; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === SPACE || byte === CR || byte === LF) return i;
  }
  return undefined;
}

function latin1(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
