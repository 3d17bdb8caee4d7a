/** Errors of requests to an edge, of its policy, and of its administration. */

import { type ErrorRow, EXIT, means, refusal } from './error-row.ts';

export const EDGE_ERRORS = {
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
} as const satisfies Record<string, ErrorRow>;
