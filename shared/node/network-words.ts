/**
 * Says in plain words what failed on the way to a server. Texts of libraries and of the system are
 * for the log: a user cannot act on OpenSSL's "wrong version number".
 */

import type { Detail } from '../src/base/error-table/particulars.ts';

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

/** Details that name the address or the host, if it is known. */
const PLACED = {
  ECONNREFUSED: ['nothing-listens', 'nothing-listens-at'],
  ENOTFOUND: ['no-address', 'no-address-for'],
  EHOSTUNREACH: ['no-way', 'no-way-at'],
  ENETUNREACH: ['no-way', 'no-way-at'],
  EHOSTDOWN: ['machine-off', 'machine-off-at'],
  ETIMEDOUT: ['not-connected', 'not-connected-at'],
  UND_ERR_CONNECT_TIMEOUT: ['not-connected', 'not-connected-at'],
} as const;

const PLAIN = {
  EAI_AGAIN: 'name-server-silent',
  ENETDOWN: 'network-down',
  EACCES: 'firewall',
  EPERM: 'firewall',
  EMFILE: 'too-many-open',
  UND_ERR_HEADERS_TIMEOUT: 'no-answer-in-time',
  UND_ERR_BODY_TIMEOUT: 'nothing-more-in-time',
  ECONNRESET: 'was-reset',
  EPIPE: 'was-closed',
  UND_ERR_SOCKET: 'was-closed',
  UND_ERR_HEADERS_OVERFLOW: 'header-exceeds',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'body-differs',
  CERT_HAS_EXPIRED: 'certificate-expired',
  CERT_NOT_YET_VALID: 'certificate-early',
  CERT_REVOKED: 'certificate-revoked',
  CERT_UNTRUSTED: 'certificate-unknown',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate-own',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate-unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate-unknown',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate-unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate-unknown',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate-other-host',
  HOSTNAME_MISMATCH: 'certificate-other-host',
} as const;

/** OpenSSL's reasons for a failed handshake, in its words with spaces or underscores. */
const HANDSHAKES = [
  [/handshake.failure|no.shared.cipher|no.ciphers/i, 'tls-no-cipher'],
  [/protocol.version|unsupported.protocol/i, 'tls-version'],
  [/unrecognized.name/i, 'tls-host-unknown'],
  [/certificate.required|bad.certificate|unknown.ca/i, 'tls-asks-certificate'],
] as const;
/** OpenSSL's reason where the bytes that came are no TLS at all, such as those of plain HTTP. */
const NOT_TLS = /wrong.version.number|packet.length.too.long|http.request/i;

/**
 * Describes a failure without words of a library. A failure that is not known is described by its
 * code, which can be searched for.
 */
export function networkDetail(error: unknown): Detail {
  const { code, message, address, port, hostname } = Object(error) as Failure;
  const reason = tlsReason(error);
  if (reason !== undefined) {
    const [, tls] = HANDSHAKES.find(([pattern]) => pattern.test(reason)) ?? [];
    return { code: tls ?? 'tls-failed' };
  }
  if (typeof code !== 'string' || code === '') return quoted(String(message ?? error));
  const where = port === undefined ? (address ?? hostname) : `${address}:${port}`;
  const os = { os: code };
  if (Object.hasOwn(PLACED, code)) {
    const [alone, placed] = PLACED[code as keyof typeof PLACED];
    return where
      ? { code: placed, values: { ...os, place: String(where) } }
      : { code: alone, values: os };
  }
  if (Object.hasOwn(PLAIN, code)) return { code: PLAIN[code as keyof typeof PLAIN], values: os };
  return code.startsWith('HPE_') ? { code: 'not-http', values: os } : quoted(code);
}

function quoted(text: string): Detail {
  return { code: 'quoted', values: { text } };
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
