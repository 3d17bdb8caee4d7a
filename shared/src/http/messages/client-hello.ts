/** Reads what a client of TLS asks for in its first message (RFC 8446 4.1.2), before an answer. */

/** The client's part of a handshake, before anything is agreed. */
export interface ClientHello {
  /** Host that it asks for (SNI, RFC 6066 3), in lower case; undefined: it names none. */
  readonly serverName: string | undefined;
  /** Protocols that it speaks (ALPN, RFC 7301), the best first; empty: it names none. */
  readonly protocols: readonly string[];
}

/** Most bytes that are looked at: first messages are of 200 to 2,000. */
const MAX_BYTES = 16 * 1024;

/** Types of a record and of its message, and of extensions. */
const [HANDSHAKE, CLIENT_HELLO] = [22, 1];
const [SERVER_NAME, ALPN, HOST_NAME] = [0, 16, 0];
const RECORD_HEAD = 5;

/**
 * Reads the first bytes of a connection.
 *
 * @returns `partial` while more bytes are needed; undefined for bytes that are no such message, or too long
 */
export function readClientHello(bytes: Uint8Array): ClientHello | 'partial' | undefined {
  const message = messageOf(bytes);
  if (!(message instanceof Uint8Array)) return message;
  try {
    return readHello(new Reader(message));
  } catch {
    return undefined;
  }
}

/** Returns the message, which records may have cut in pieces. */
function messageOf(bytes: Uint8Array): Uint8Array | 'partial' | undefined {
  const pieces: number[] = [];
  for (let at = 0; ; ) {
    const [type, , , high = 0, low = 0] = bytes.subarray(at, at + RECORD_HEAD);
    if (at < bytes.length && type !== HANDSHAKE) return undefined;
    const end = at + RECORD_HEAD + high * 256 + low;
    pieces.push(...bytes.subarray(at + RECORD_HEAD, end));
    if (pieces.length > 0 && pieces[0] !== CLIENT_HELLO) return undefined;
    const [, a = 0, b = 0, c = 0] = pieces;
    const length = (a * 256 + b) * 256 + c;
    if (pieces.length >= 4 && pieces.length - 4 >= length) {
      return Uint8Array.from(pieces.slice(4, 4 + length));
    }
    if (bytes.length >= MAX_BYTES || length > MAX_BYTES) return undefined;
    if (end > bytes.length || bytes.length < at + RECORD_HEAD) return 'partial';
    // An empty record brings the message no further.
    if (end === at + RECORD_HEAD) return undefined;
    at = end;
  }
}

/** @throws RangeError if the message is cut off */
function readHello(hello: Reader): ClientHello {
  hello.take(2 + 32); // version and random
  hello.list(1); // session
  hello.list(2); // ciphers
  hello.list(1); // compression
  let serverName: string | undefined;
  let protocols: string[] = [];
  const extensions = hello.list(2);
  while (!extensions.isEmpty) {
    const type = extensions.number(2);
    const body = extensions.list(2);
    if (type === SERVER_NAME) {
      const names = body.list(2);
      if (names.number(1) === HOST_NAME) serverName = names.list(2).text().toLowerCase();
    } else if (type === ALPN) {
      const names = body.list(2);
      protocols = [];
      while (!names.isEmpty) protocols.push(names.list(1).text());
    }
  }
  return { serverName, protocols };
}

/** Takes values from the beginning of bytes. Its methods throw RangeError beyond their end. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('cut off');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** Takes a number of so many bytes, the highest first. */
  number(bytes: number): number {
    return this.take(bytes).reduce((sum, byte) => sum * 256 + byte, 0);
  }

  /** Takes bytes with their length before them, a number of so many bytes. */
  list(lengthBytes: number): Reader {
    return new Reader(this.take(this.number(lengthBytes)));
  }

  /** Takes all bytes, as text of ISO 8859-1. */
  text(): string {
    return String.fromCharCode(...this.take(this.#bytes.length - this.#at));
  }
}
