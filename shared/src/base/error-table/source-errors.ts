/** Errors of origins and of the way to them, and of answers that cannot be used. */

import { AS_ONE_PIECE, type ErrorRow, EXIT, means } from './error-row.ts';

export const SOURCE_ERRORS = {
  // Failures of the origin
  'origin-not-found': {
    status: 404,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The origin has no such file',
    advice: 'Check the URL.',
  },
  'origin-gone': {
    status: 410,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The origin has removed the file',
    advice: 'Look for a new URL.',
  },
  'rest-missing': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'No remaining source has the rest of the file',
    advice: 'Add another source of the same file and resume: the bytes so far are kept.',
  },
  'file-lost': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'Too few shards of the file can be had to put it together',
    advice:
      'If depots are away only, try again later: the bytes so far are kept. Otherwise ask the owner, who sees with "millrace stat --check" what is left, to upload the file again.',
  },
  'origin-denied': {
    status: 403,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The origin refuses access',
    advice: 'The link may have expired or need a log-in; get a new one from where you found it.',
  },
  'origin-login': {
    status: 403,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The origin asks for a log-in',
    advice: 'Fetch the file from the origin itself: edges carry no log-in to an origin.',
  },
  'out-of-memory': {
    status: 503,
    ...means('node', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'The edge has no memory left for more transfers',
    advice: 'Try again after the time in Retry-After, or use another edge or the origin itself.',
  },
  'origin-busy': {
    status: 503,
    ...means('source', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'The origin is busy',
    advice: 'Wait as long as Retry-After says.',
  },
  'origin-error': {
    status: 502,
    ...means('source', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'The origin answered with an error',
    advice: 'Try again later; if that does not help, tell the owner of the origin.',
  },
  'origin-unreachable': {
    status: 502,
    ...means('source', 'later', 'kept'),
    exit: EXIT.network,
    title: 'The origin cannot be reached',
    advice: 'Check the host name and the network, then try again.',
  },
  'origin-refused': {
    status: 502,
    ...means('source', 'later', 'kept'),
    exit: EXIT.network,
    title: 'The server refuses connections',
    advice: 'Check the port in the URL, and whether the server runs; then try again.',
  },
  'origin-unknown': {
    status: 502,
    ...means('source', 'later', 'kept'),
    exit: EXIT.network,
    title: 'There is no server of that name',
    advice: 'Check how the host name in the URL is spelled.',
  },
  'network-away': {
    status: 502,
    ...means('download', 'later', 'kept'),
    exit: EXIT.network,
    title: 'This computer has no network',
    advice: 'Wait until it is connected again; downloads continue by themselves.',
    onePiece: `Wait until it is connected again; then the download starts from the beginning by itself, ${AS_ONE_PIECE}.`,
  },
  'origin-timeout': {
    status: 504,
    ...means('source', 'at once', 'kept'),
    exit: EXIT.network,
    title: 'The origin does not answer',
    advice: 'Try again later.',
  },
  'origin-reset': {
    status: 502,
    ...means('source', 'at once', 'kept'),
    exit: EXIT.network,
    title: 'The connection broke before all bytes had come',
    advice: 'Try again; what has been received is kept.',
    onePiece: `Try again: it starts from the beginning, ${AS_ONE_PIECE}.`,
  },
  'too-many-redirects': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The link redirects too often',
    advice: 'Use the URL at the end of the redirects.',
  },
  'bad-redirect': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The link redirects to an address that cannot be used',
    advice: 'Tell the owner of the origin.',
  },

  // The way to the origin
  'no-tls': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.network,
    title: 'The server does not speak TLS at this port',
    advice: 'If the server has no TLS, begin the link with http://; otherwise check the port.',
  },
  'certificate-invalid': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The server’s certificate cannot be trusted',
    advice:
      'Check the host name and the clock of this machine; a log-in page of the network may be in between.',
  },
  'proxy-failed': {
    status: 502,
    ...means('node', 'later', 'kept'),
    exit: EXIT.network,
    title: 'The proxy does not work',
    advice: 'Check its address and that it runs, or use another proxy or none.',
  },
  'proxy-denied': {
    status: 502,
    ...means('node', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The proxy refuses access',
    advice:
      'If it asks for a log-in, give it with the address: --proxy http://name:password@host:port.',
  },

  // A source that breaks the range contract: its bytes are never used
  'range-ignored': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'The source does not serve ranges',
    advice: 'The file can only be fetched in one piece from this source.',
  },
  'wrong-range': {
    status: 502,
    ...means('source', 'no', 'dropped'),
    exit: EXIT.source,
    title: 'The source sent other bytes than the ones asked for',
    advice: 'Use another source, and tell the owner of this one.',
  },
  'wrong-length': {
    status: 502,
    ...means('source', 'later', 'dropped'),
    exit: EXIT.source,
    title: 'The source sent more or fewer bytes than it announced',
    advice: 'Try again, or use another source.',
  },
  'wrong-encoding': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'The source sent an encoded body although none was asked for',
    advice: 'Use another source, and tell the owner of this one.',
  },
  'wrong-digest': {
    status: 502,
    ...means('source', 'later', 'dropped'),
    exit: EXIT.source,
    title: 'The bytes received do not match their digest',
    advice: 'Try again, or use another source.',
  },
  'version-changed': {
    status: 502,
    ...means('source', 'anew', 'kept', 'other version'),
    exit: EXIT.source,
    title: 'The file changed at the origin while it was being fetched',
    advice: 'Start again to get the new version.',
  },
  'version-unproven': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'The source does not say which version of the file it sent',
    advice: 'Use another source, and tell the owner of this one.',
  },
  'source-refused': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'This source is not used, for the safety of the file or of your network',
    advice: 'If you trust the server, name it yourself, or give a digest of the file.',
  },
  'different-file': {
    status: 502,
    ...means('source', 'no', 'dropped'),
    exit: EXIT.source,
    title: 'The source has another file than the one being downloaded',
    advice:
      'Give a URL of the same file. To download this one instead, choose another name with -o, ' +
      'or replace the partial file with --overwrite.',
  },
  'malformed-response': {
    status: 502,
    ...means('source', 'no', 'dropped'),
    exit: EXIT.source,
    title: 'The source sent an answer that cannot be understood',
    advice: 'Use another source, and tell the owner of this one.',
  },
} as const satisfies Record<string, ErrorRow>;
