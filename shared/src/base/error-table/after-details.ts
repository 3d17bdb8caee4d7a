/** Details of actions after a download, of lists that cannot be imported, and why no edge is asked for a file. */

export const AFTER_DETAILS = {
  'no-place': 'the file has no place',
  'no-archive': 'no archive',
  'no-command': 'there is no command "{name}"',
  'might-run': 'opening it might run it: open it yourself',
  'no-screen': 'there is no screen',
  'no-webhook': 'no webhook is set up',
  'earlier-failed': 'an earlier action failed',
  'no-answer': 'no answer',
  'answer-was': 'answer {status}',
  'ended-after': 'ended after {seconds} s',
  'exit-was': 'exit status {status}',
  'not-startable': '{program} cannot be started ({os})',

  'list-too-long': 'more than {most} downloads',
  'list-not-json': 'it is not JSON',
  'list-not-downloads': 'it is not a list of downloads',
  'list-newer': 'a newer version of Millrace has written it',

  'no-edge-asked': 'no edge is asked: {why}',
  'home-fields': 'the request has header fields of its own',
  'home-own-network': 'it is in a private network',
  'home-user-name': 'the link has a user name in it',
  'home-signature': 'the link is signed',
  'home-secret': 'the link has a secret in it',
  'home-time-limit': 'the link is good for a time only',
  'home-share-link': 'the link is one for sharing',
  'home-random-id': 'the link has an identifier in it that nobody could guess',
  'home-answer-private': 'the server says that nobody else may keep it (Cache-Control)',
  'home-answer-cookie': 'the server sets a cookie',
  'home-answer-varies': 'the server gives different people different files (Vary)',
  'home-answer-denied': 'the server wants a log-in',
  'home-no-digest': 'no checksum shows whether their bytes are right',
  'house-read-early':
    'the file is read before its checksum can show whether bytes of edges in this house are right',
  'home-proxy': 'it goes through a proxy',
} as const;
