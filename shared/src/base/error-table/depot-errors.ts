/** Errors of depots, and of files that are kept in them. */

import { type ErrorRow, EXIT, means } from './error-row.ts';

export const DEPOT_ERRORS = {
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
  'depot-disk-failed': {
    status: 503,
    ...means('node', 'later', 'kept'),
    exit: EXIT.source,
    title: 'The disk of the depot has failed',
    advice: 'Tell the operator of the depot. Run the same command later, or use another depot.',
  },
  'last-replica': {
    status: 409,
    ...means('client', 'no', 'kept'),
    exit: EXIT.refused,
    title: 'The last replica of some bytes would go',
    advice: 'Nothing has been removed. To remove everything, use "millrace trim --all".',
  },
  'copies-lost': {
    status: 502,
    ...means('source', 'no', 'kept'),
    exit: EXIT.source,
    title: 'No depot gives some bytes of the file',
    advice:
      'If a depot is only away, try again later. Otherwise upload the file again. Copies of other bytes stay as they are.',
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
} as const satisfies Record<string, ErrorRow>;
