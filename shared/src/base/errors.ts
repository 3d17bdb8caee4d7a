/**
 * The one table of errors. Every failure that a user, a client or an operator can see has a row
 * here: a stable code, the HTTP status an edge answers with, its meaning for code that decides how
 * to continue, the exit status of the command line, and what to do about it.
 */

/**
 * At fault: `client`, the request; `source`, the origin or its answer; `node`, a node on the way
 * (an edge, a peer, a proxy) by its policy or its load; `download`, the machine that downloads
 * (its disk, its network, its programs).
 */
export type FaultScope = 'client' | 'source' | 'node' | 'download';

/**
 * Whether asking again can help: `no`, not without a change; `anew`, only by starting again (with a
 * new version, once there is room); `later`, the same server after a pause; `at once`, the same
 * server for the rest, since the connection broke and the answer was sound (ANYCAST 3.1.1).
 */
export type Again = 'no' | 'anew' | 'later' | 'at once';

/**
 * Consequences of an error, which every code has. Code that reacts to errors decides by these.
 */
export interface Meaning {
  readonly scope: FaultScope;
  readonly again: Again;
  /** Whether the bytes received in the same answer are trusted. */
  readonly bytes: 'kept' | 'dropped';
  /** Change of the file at the URL that the failure implies, if any. */
  readonly file: 'gone' | 'other version' | undefined;
  /**
   * Files that a node refuses by its policy, if the error is such a refusal: all of the origin, or
   * this one. The node serves everything else as before.
   */
  readonly refuses: 'origin' | 'file' | undefined;
  /** True when the same request may succeed later or at another source without being changed. */
  readonly retryable: boolean;
}

/** One row of the table. */
export interface ErrorRow extends Meaning {
  /** HTTP status an edge answers with (the nearest HTTP meaning if no HTTP is involved). */
  readonly status: number;
  /** Exit status of the command line, see `EXIT`. */
  readonly exit: number;
  /** The event in a few words; the same text for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  /** One sentence about what the reader can do. */
  readonly advice: string;
  /**
   * The advice for a file that its source sends in one piece; present where the other advice
   * promises that stored bytes are used again.
   */
  readonly onePiece?: string;
}

/** Exit statuses of the command line. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  network: 3,
  refused: 4,
  checksum: 5,
  filesystem: 6,
  source: 7,
  partial: 8,
  interrupted: 130,
} as const;

function means(
  scope: FaultScope,
  again: Again,
  bytes: Meaning['bytes'],
  file?: Exclude<Meaning['file'], undefined>,
): Meaning {
  return { scope, again, bytes, file, refuses: undefined, retryable: again !== 'no' };
}

/** The meaning of a node's refusal by policy, which holds until its operator changes the policy. */
function refusal(refuses: Exclude<Meaning['refuses'], undefined>): Meaning {
  return { ...means('node', 'no', 'kept'), refuses };
}

/** The reason why a download cannot be continued. */
const AS_ONE_PIECE = 'because the source sends the file in one piece';

export const ERRORS = {
  // Faults of the client's request
  'bad-url': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The URL cannot be fetched',
    advice: 'Give a complete http:// or https:// URL; the address of an edge goes before it.',
  },
  'bad-request': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The request cannot be read',
    advice: 'Send what HTTP and the edge’s documentation allow.',
  },
  'url-too-long': {
    status: 414,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The URL is too long',
    advice: 'Use a shorter URL.',
  },
  'credentials-in-url': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The URL contains a user name or password',
    advice: 'Fetch it directly from the origin: edges never carry credentials.',
  },
  'not-a-proxy': {
    status: 421,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'This is not a forward proxy',
    advice: 'Do not configure the edge as a proxy; put its address before the URL instead.',
  },
  'method-not-allowed': {
    status: 405,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'Only GET and HEAD are possible',
    advice: 'Send GET or HEAD, or talk to the origin directly.',
  },
  'no-such-page': {
    status: 404,
    ...means('node', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'This edge has no such page',
    advice: 'Put the address of the edge before a complete URL; the page at / says how.',
  },
  'precondition-failed': {
    status: 412,
    ...means('source', 'no', 'kept', 'other version'),
    exit: EXIT.source,
    title: 'The file is not the version that was asked for',
    advice: 'Ask again without the condition to get the current version.',
  },
  'range-not-satisfiable': {
    status: 416,
    ...means('client', 'no', 'kept'),
    exit: EXIT.source,
    title: 'The file has no such bytes',
    advice: 'Ask for a range inside the length given in Content-Range.',
  },
  'not-cached': {
    status: 504,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The file is not in the cache',
    advice: 'Ask without only-if-cached.',
  },
  'inside-request-refused': {
    status: 403,
    ...means('node', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'Requests of the inside protocol are not accepted from here',
    advice: 'Use the prefixed URL form; only peers of this edge may ask for single chunks.',
  },
  'bad-chunk-name': {
    status: 400,
    ...means('node', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'That is not the name of a chunk',
    advice: 'Ask for aligned chunks of a legal size; clients should use the prefixed URL form.',
  },
  'loop-detected': {
    status: 508,
    ...means('node', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The request has passed through this edge before',
    advice: 'Put an edge before the URL only once.',
  },

  // Refusals by the edge's policy
  'origin-not-allowed': {
    status: 403,
    ...refusal('origin'),
    exit: EXIT.refused,
    title: 'This edge does not serve that origin',
    advice: 'Ask the operator of the edge to add it with --allow-origin.',
  },
  'private-address': {
    status: 403,
    ...refusal('origin'),
    exit: EXIT.refused,
    title: 'The origin is at a private address',
    advice:
      'Fetch it directly. The operator of the edge can list the host by its name or address: in ' +
      '--rules-file with "allow": "signed" for holders of a signed link only, in --allow-origin for everybody.',
  },
  'other-site': {
    status: 403,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'A web page of another site asked for this',
    advice: 'Open the address in a tab of its own: this edge serves its own user only.',
  },
  'token-required': {
    status: 401,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The administration token is needed',
    advice:
      'Give the token of the edge’s --admin-token-file: on the command line with --token-file, in a request as "Authorization: Bearer".',
  },
  'too-many-transfers': {
    status: 429,
    ...means('node', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'Too many transfers at once from one address',
    advice: 'Wait for a transfer to finish, or use fewer connections.',
  },
  'too-many-requests': {
    status: 429,
    ...means('node', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'Too many requests from one address',
    advice: 'Wait as long as Retry-After says.',
  },
  'too-many-origins': {
    status: 429,
    ...means('node', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'Too many origins from one address',
    advice: 'Wait as long as Retry-After says, and for transfers from other origins to finish.',
  },
  'too-much-fetched': {
    status: 429,
    ...means('node', 'later', 'kept'),
    exit: EXIT.refused,
    title: 'The origins had to send far more for one address than it took',
    advice: 'Wait as long as Retry-After says, and ask for larger ranges.',
  },
  'content-type-refused': {
    status: 403,
    ...refusal('file'),
    exit: EXIT.refused,
    title: 'This edge does not serve files of that type from there',
    advice: 'Fetch it directly from the origin, or ask the operator of the edge.',
  },
  'file-too-large': {
    status: 403,
    ...refusal('file'),
    exit: EXIT.refused,
    title: 'The file is larger than this edge serves from there',
    advice: 'Fetch it directly from the origin, or ask the operator of the edge.',
  },
  'quota-exhausted': {
    status: 503,
    ...means('source', 'anew', 'kept'),
    exit: EXIT.refused,
    title: "This edge's quota for that origin is used up",
    advice: 'Wait as long as Retry-After says, or fetch it directly from the origin.',
  },
  'link-invalid': {
    status: 403,
    ...refusal('file'),
    exit: EXIT.refused,
    title: 'The signature of the link is wrong',
    advice: 'Copy the whole link, unchanged; its signature holds for exactly one URL.',
  },
  'link-expired': {
    status: 403,
    ...refusal('file'),
    exit: EXIT.refused,
    title: 'The link has expired',
    advice: 'Get a new one from where you found it.',
  },
  draining: {
    status: 503,
    ...means('node', 'later', 'kept'),
    exit: EXIT.network,
    title: 'This edge is shutting down',
    advice: 'Use another edge, or try again in a moment.',
  },

  'no-signed-links': {
    status: 403,
    ...refusal('file'),
    exit: EXIT.refused,
    title: 'This edge takes no signed links',
    advice:
      'Ask the edge that the link was made for. To have this one take such links, its operator starts it with --link-secret-file.',
  },

  // Administration
  'pin-refused': {
    status: 507,
    ...means('node', 'anew', 'kept'),
    exit: EXIT.refused,
    title: 'The file cannot be pinned',
    advice: 'Release other pins, ask for less or for a shorter time, or raise the limits.',
  },
  'no-such-entry': {
    status: 404,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The edge has no such pin or prefetch',
    advice: 'List them with "millrace edge pins" or "millrace edge prefetches".',
  },
  'not-cacheable': {
    status: 409,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'Edges cannot keep the file',
    advice: 'Its origin must serve ranges, tell length and version, and allow caching.',
  },

  // Depots
  'method-refused': {
    status: 405,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The address takes other methods only',
    advice: 'Use one of the methods that the Allow field lists.',
  },
  'owner-token-required': {
    status: 401,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The token of an owner is needed',
    advice:
      'Give the token that the operator of the depot has given you: on the command line with --token-file, in a request as "Authorization: Bearer".',
  },
  'allocation-refused': {
    status: 507,
    ...means('node', 'anew', 'kept'),
    exit: EXIT.refused,
    title: 'The depot refuses to store the file',
    advice:
      'Store less or for a shorter time, release what is no longer needed, or ask the operator of the depot for more.',
  },
  'no-such-allocation': {
    status: 404,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The depot has no such file',
    advice: 'Check the link. A wrong link and a file that is gone look the same.',
  },
  'allocation-expired': {
    status: 410,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The file in the depot has expired',
    advice: 'Ask the person who has stored it to do so again.',
  },
  'content-blocked': {
    status: 451,
    ...means('source', 'no', 'kept', 'gone'),
    exit: EXIT.refused,
    title: 'The operator of the depot has blocked this content',
    advice: 'Ask the operator of the depot why. The depot neither takes nor serves it.',
  },
  'depot-unreachable': {
    status: 503,
    ...means('source', 'later', 'kept'),
    exit: EXIT.source,
    title: 'The edge that stores the file does not answer',
    advice: 'Try again later, or ask the edge that the link was made for.',
  },
  'upload-incomplete': {
    status: 409,
    ...means('source', 'anew', 'kept'),
    exit: EXIT.refused,
    title: 'The upload of the file is not complete yet',
    advice: 'Wait until all of it has been uploaded, then ask again.',
  },
  'allocation-damaged': {
    status: 502,
    ...means('source', 'no', 'dropped'),
    exit: EXIT.source,
    title: 'The disk of the depot has damaged the file',
    advice: 'Ask the person who has stored it to do so again, and tell the operator of the depot.',
  },
  'last-replica': {
    status: 409,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The last replica of some bytes would go',
    advice: 'Nothing has been removed. To remove everything, use "millrace trim --all".',
  },
  'too-few-depots': {
    status: 409,
    ...means('client', 'anew', 'kept'),
    exit: EXIT.refused,
    title: 'There are too few depots for so many copies',
    advice: 'Name more depots with --edge, or ask for fewer --copies. What is stored stays.',
  },
  'offset-mismatch': {
    status: 409,
    ...means('client', 'anew', 'kept'),
    exit: EXIT.network,
    title: 'The upload continues at another offset',
    advice: 'Continue at the offset that Upload-Offset names.',
  },
  'upload-complete': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The upload is complete already',
    advice: 'Nothing can be added to it: upload the file anew.',
  },
  'inconsistent-length': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The upload does not have the length that was stated',
    advice: 'Upload the file anew, with one length.',
  },
  'upload-too-long': {
    status: 413,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The upload is longer than the space that is reserved for it',
    advice: 'Reserve more space, as Upload-Limit allows.',
  },
  'content-mismatch': {
    status: 400,
    ...means('client', 'anew', 'kept'),
    exit: EXIT.checksum,
    title: 'The depot received other bytes than those of the digest',
    advice: 'Send them again. If it happens again, look for a fault of memory or disk.',
  },
  'upload-too-slow': {
    status: 408,
    ...means('client', 'anew', 'kept'),
    exit: EXIT.network,
    title: 'The upload is too slow',
    advice: 'Continue it later, or over a faster connection: what has been stored stays.',
  },

  'upload-running': {
    status: 409,
    ...means('client', 'anew', 'kept'),
    exit: EXIT.usage,
    title: 'The file is being uploaded there already',
    advice: 'Wait until the other process has finished, or end it.',
  },
  'file-has-changed': {
    status: 409,
    ...means('client', 'anew', 'kept'),
    exit: EXIT.filesystem,
    title: 'The file has changed while it was read',
    advice: 'Run the same command again when no program writes to the file.',
  },
  'share-outdated': {
    status: 409,
    ...means('client', 'no', 'kept'),
    exit: EXIT.filesystem,
    title: 'The file has been changed since it was to be sent',
    advice: 'Revoke this entry, and send the file again.',
  },

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

  // The command line and the download engine
  'bad-option': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'An option has a value that cannot be used',
    advice: 'See --help.',
  },
  'bad-metalink': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The download description cannot be understood',
    advice: 'Get it again from where you found it, or tell its publisher what is wrong with it.',
  },
  'bad-archive': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.source,
    title: 'The archive is not unpacked',
    advice: 'The archive itself is kept. Unpack it with another program if you trust who made it.',
  },
  'bad-zsync': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.source,
    title: 'The list of blocks cannot be used',
    advice: 'Download the file without it, or ask its publisher to make it anew.',
  },
  'bad-exnode': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The exNode cannot be used',
    advice: 'Get it again from where you found it, or ask whoever stored the file for a new one.',
  },
  'wrong-key': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The key of the encrypted file is missing or wrong',
    advice:
      'Use the whole link, to its last character, in quotes: its key follows #. Nothing was written.',
  },
  'bad-manifest': {
    status: 400,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'The manifest cannot be used',
    advice: 'Nothing has been changed. Publish the folder again, or ask its publisher to.',
  },
  'contradicting-statements': {
    status: 409,
    ...means('source', 'no', 'kept'),
    exit: EXIT.checksum,
    title: 'Statements about the file contradict each other',
    advice: 'One statement is wrong or about another version: find out which, and leave it out.',
  },
  'checksum-mismatch': {
    status: 502,
    ...means('source', 'no', 'dropped'),
    exit: EXIT.checksum,
    title: 'The file does not have the checksum it should have',
    advice: 'Check the checksum; if it is right, the file at the source is damaged or altered.',
  },
  'bad-signature': {
    status: 502,
    ...means('source', 'no', 'dropped'),
    exit: EXIT.checksum,
    title: 'The file is not what its publisher signed',
    advice:
      'Use another source: the file or its list of digests was altered, or a mirror is out of step.',
  },
  'file-exists': {
    status: 409,
    ...means('download', 'no', 'kept'),
    exit: EXIT.filesystem,
    title: 'There is a file of this name already',
    advice: 'Choose another name with -o, or replace it with --overwrite.',
  },
  'file-in-use': {
    status: 409,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.filesystem,
    title: 'Another download writes to the same file',
    advice: 'Wait for it to finish, or choose another name with -o.',
  },
  'disk-full': {
    status: 507,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.filesystem,
    title: 'There is no room for the file',
    advice: 'Free some space and run the same command again: it continues where it stopped.',
    onePiece: `Free some space and run the same command again: it starts from the beginning, ${AS_ONE_PIECE}.`,
  },
  'file-not-writable': {
    status: 500,
    ...means('download', 'no', 'kept'),
    exit: EXIT.filesystem,
    title: 'The file cannot be written',
    advice: 'Check the folder and its permissions, or choose another with -d.',
  },
  'file-changed': {
    status: 409,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.filesystem,
    title: 'Another program has changed the unfinished file',
    advice: 'Run the same command again: right parts are kept, the others are fetched again.',
    onePiece: `Run the same command again: it starts from the beginning, ${AS_ONE_PIECE}.`,
  },
  'daemon-running': {
    status: 409,
    ...means('download', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'A daemon is running already',
    advice: 'Use the daemon that runs, or end it first.',
  },
  'daemon-not-running': {
    status: 503,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.network,
    title: 'No daemon is running',
    advice: 'Start one with "millrace daemon start --detach".',
  },
  'daemon-silent': {
    status: 504,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.network,
    title: 'The daemon does not answer',
    advice: 'See daemon.log in the state folder; "millrace daemon stop" ends it.',
  },
  'state-unusable': {
    status: 500,
    ...means('download', 'no', 'kept'),
    exit: EXIT.filesystem,
    title: 'The state folder cannot be used',
    advice: 'Look at the file named, or choose another folder with MILLRACE_STATE.',
  },
  'no-such-download': {
    status: 404,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'There is no such download',
    advice: 'List the downloads with "millrace list".',
  },
  'remote-unreachable': {
    status: 503,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.network,
    title: 'The daemon on the other machine cannot be reached',
    advice:
      'Check its address, and whether it runs there. This machine must accept its certificate: NODE_EXTRA_CA_CERTS names the file of your own authority.',
  },
  'not-paired': {
    status: 401,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The daemon on the other machine does not know this one',
    advice:
      'Ask it for a code, in its settings under Devices or by "millrace pair", and run "millrace --remote URL pair CODE" here.',
  },
  'not-remote': {
    status: 403,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'Not allowed from another machine',
    advice: 'Do it on the machine that the daemon runs on.',
  },
  'wrong-state': {
    status: 409,
    ...means('client', 'no', 'kept'),
    exit: EXIT.usage,
    title: 'Not possible in the download’s current state',
    advice: 'See "millrace info" for its state.',
  },
  'queue-full': {
    status: 507,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.refused,
    title: 'There are too many downloads in the queue',
    advice: 'Wait until some have finished, or remove some.',
  },
  interrupted: {
    status: 499,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.interrupted,
    title: 'Interrupted',
    advice: 'Run the same command again: it continues where it stopped.',
    onePiece: `Run the same command again: it starts from the beginning, ${AS_ONE_PIECE}.`,
  },
  internal: {
    status: 500,
    ...means('download', 'anew', 'kept'),
    exit: EXIT.unexpected,
    title: 'Something went wrong inside Millrace',
    advice: 'This is a fault of Millrace: please report it.',
  },
} as const satisfies Record<string, ErrorRow>;

/** A code of the table. */
export type ErrorCode = keyof typeof ERRORS;

const CODES: ReadonlySet<string> = new Set(Object.keys(ERRORS));

/** Returns true for codes of this table; other programs and other versions may send others. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && CODES.has(code);
}

/** An error of the table, with the particulars of this occurrence. */
export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly code: ErrorCode;
  /** Particulars of this occurrence: a clause without a full stop, may be empty. */
  readonly detail: string;
  /** Milliseconds that the other side asked us to wait (Retry-After), if it did. */
  readonly retryAfterMs: number | undefined;
  /** True if the source sends the file in one piece: the next run starts from the beginning. */
  readonly onePiece: boolean;

  constructor(
    code: ErrorCode,
    detail = '',
    options: {
      cause?: unknown;
      retryAfterMs?: number | undefined;
      onePiece?: boolean | undefined;
    } = {},
  ) {
    super(
      detail === '' ? ERRORS[code].title : `${ERRORS[code].title}: ${detail}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.detail = detail;
    this.retryAfterMs = options.retryAfterMs;
    this.onePiece = options.onePiece ?? false;
  }

  /** The error's row in the table. */
  get row(): ErrorRow {
    return ERRORS[this.code];
  }

  /** Advice of the row, by whether the download can be continued. */
  get advice(): string {
    return adviceOf(this.row, this.onePiece);
  }

  /** Returns the error of a download whose source sends the file in one piece. */
  ofOnePiece(): MillraceError {
    const { code, detail, retryAfterMs } = this;
    return new MillraceError(code, detail, { cause: this, retryAfterMs, onePiece: true });
  }
}

/**
 * Returns the advice of a row.
 *
 * @param onePiece true for a file that its source sends in one piece, which no run continues
 */
export function adviceOf({ advice, onePiece: instead }: ErrorRow, onePiece = false): string {
  return onePiece ? (instead ?? advice) : advice;
}

/** Returns true for failures that waiting, or asking for the rest at once, can mend. */
export function isPassing({ again }: Meaning): boolean {
  return again === 'later' || again === 'at once';
}

/** Returns true for failures of a source, or of a node on the way: another source may do better. */
export function isOfSource({ scope }: Meaning): boolean {
  return scope === 'source' || scope === 'node';
}

/** Returns true for failures of the downloading machine that no source and no waiting can mend. */
export function endsDownload(meaning: Meaning): boolean {
  return meaning.scope === 'download' && !isPassing(meaning);
}

/** Returns true when `error` is an error of the table, of the given code if one is given. */
export function isMillraceError(error: unknown, code?: ErrorCode): error is MillraceError {
  return error instanceof MillraceError && (code === undefined || error.code === code);
}

/** Returns `error` itself if it is of the table, otherwise wraps it as `internal`. */
export function asMillraceError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new MillraceError('internal', detail, { cause: error });
}
