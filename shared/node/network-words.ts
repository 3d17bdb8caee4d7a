/**
 * Says in plain words what failed on the way to a server. Texts of libraries and of the system are
 * for the log: a user cannot act on OpenSSL's "wrong version number".
 */

/** Members that failures of sockets, of the resolver and of OpenSSL may have. */
interface Failure {
  readonly code?: unknown;
  readonly message?: unknown;
  /** OpenSSL's reason, in its own words. */
  readonly reason?: unknown;
  readonly library?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly hostname?: unknown;
}

/** Words by code. `{at}` and `{for}` are filled with the address or the name, if it is known. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens{at}',
  ENOTFOUND: 'no address is known{for}',
  EAI_AGAIN: 'the name server does not answer',
  EHOSTUNREACH: 'no way leads there{at}',
  ENETUNREACH: 'no way leads there{at}',
  EHOSTDOWN: 'the machine is off{at}',
  ENETDOWN: 'the network is down',
  EACCES: 'a firewall of this machine forbids the connection',
  EPERM: 'a firewall of this machine forbids the connection',
  EMFILE: 'this program has too many files open',
  ETIMEDOUT: 'the connection was not made in time{at}',
  UND_ERR_CONNECT_TIMEOUT: 'the connection was not made in time{at}',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_BODY_TIMEOUT: 'nothing more came in time',
  ECONNRESET: 'the other side reset the connection',
  EPIPE: 'the other side closed the connection',
  UND_ERR_SOCKET: 'the other side closed the connection',
  UND_ERR_HEADERS_OVERFLOW: 'its header is too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its body does not have the announced length',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  CERT_REVOKED: 'it has been revoked',
  CERT_UNTRUSTED: 'it comes from an unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the server has signed it itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'it comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'it comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'it comes from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name',
  HOSTNAME_MISMATCH: 'it is for another host name',
};

/** OpenSSL's reasons for a failed handshake, in its words with spaces or underscores. */
const HANDSHAKES: readonly (readonly [RegExp, string])[] = [
  [/handshake.failure|no.shared.cipher|no.ciphers/i, 'it shares no encryption with this program'],
  [/protocol.version|unsupported.protocol/i, 'it speaks another version of TLS'],
  [/unrecognized.name/i, 'it does not know the host name'],
  [/certificate.required|bad.certificate|unknown.ca/i, 'it asks for a certificate of the client'],
];
/** OpenSSL's reason where the bytes that came are no TLS at all, such as those of plain HTTP. */
const NOT_TLS = /wrong.version.number|packet.length.too.long|http.request/i;

/**
 * Describes a failure without words of a library: a clause without a full stop. A failure that is
 * not known is described by its code, which can be searched for.
 */
export function networkWords(error: unknown): string {
  const { code, message, address, port, hostname } = Object(error) as Failure;
  const reason = tlsReason(error);
  if (reason !== undefined) {
    const [, words] = HANDSHAKES.find(([pattern]) => pattern.test(reason)) ?? [];
    return `TLS: ${words ?? 'the handshake failed'}`;
  }
  if (typeof code !== 'string' || code === '') return String(message ?? error);
  const where = port === undefined ? (address ?? hostname) : `${address}:${port}`;
  const words = WORDS[code] ?? (code.startsWith('HPE_') ? 'it is not HTTP' : undefined);
  if (words === undefined) return code;
  const filled = words.replace(/\{(at|for)\}/, (_, word) => (where ? ` ${word} ${where}` : ''));
  return `${filled} (${code})`;
}

/** Returns true if the other side does not speak TLS, but most likely plain HTTP. */
export function isNotTls(error: unknown): boolean {
  return NOT_TLS.test(tlsReason(error) ?? '');
}

/** Returns OpenSSL's reason: Node gives it as a member, in the code, or only within the message. */
function tlsReason(error: unknown): string | undefined {
  const { code, message, reason, library } = Object(error) as Failure;
  if (typeof reason === 'string' && library === 'SSL routines') return reason;
  const inCode = /^ERR_SSL_(.+)$/.exec(String(code))?.[1];
  return inCode ?? /:SSL routines:[^:]*:([^:]+):/.exec(String(message))?.[1];
}
