/** Says in words why no edge is asked for a file. */

import type { HomeReason } from './edge-use.ts';

const WORDS: Readonly<Record<HomeReason, string>> = {
  fields: 'the request has header fields of its own',
  'own-network': 'it is in a private network',
  'user-name': 'the link has a user name in it',
  signature: 'the link is signed',
  secret: 'the link has a secret in it',
  'time-limit': 'the link is good for a time only',
  'share-link': 'the link is one for sharing',
  'random-id': 'the link has an identifier in it that nobody could guess',
  'answer-private': 'the server says that nobody else may keep it (Cache-Control)',
  'answer-cookie': 'the server sets a cookie',
  'answer-varies': 'the server gives different people different files (Vary)',
  'answer-denied': 'the server wants a log-in',
};

/** Returns a clause for logs, such as "the link is signed". */
export function homeReasonText(reason: HomeReason): string {
  return WORDS[reason];
}
