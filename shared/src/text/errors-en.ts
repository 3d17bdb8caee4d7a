/** Errors of downloads and their remedies in plain English: one entry per error code. */

import type { ErrorCode } from '../base/errors.ts';

export interface ErrorWords {
  /** A few words, as shown in the list; no full stop. */
  readonly title: string;
  /** A remedy for the reader; a sentence or two. */
  readonly help: string;
}

export const errorsEn: Readonly<Record<ErrorCode, ErrorWords>> = {
  'bad-url': {
    title: 'This is not a link that can be downloaded',
    help: 'Give a complete link that begins with http:// or https://.',
  },
  'bad-request': {
    title: 'The server did not understand the request',
    help: 'Try again; if it stays, look for another link to the file.',
  },
  'url-too-long': { title: 'The link is too long', help: 'Look for a shorter link to the file.' },
  'credentials-in-url': {
    title: 'The link has a password in it',
    help: 'Turn edges off for this download: passwords go to the file’s own server only.',
  },
  'not-a-proxy': {
    title: 'An edge was set up as a proxy',
    help: 'Take it out of the proxy settings and add it under Settings, Edges.',
  },
  'method-not-allowed': {
    title: 'The server takes no such request',
    help: 'Look for another link to the file.',
  },
  'no-such-page': {
    title: 'The edge knows no such page',
    help: 'Check the address of the edge under Settings, Edges.',
  },
  'precondition-failed': {
    title: 'The file has been replaced by another version',
    help: 'Try again to get the current version.',
  },
  'range-not-satisfiable': {
    title: 'The file has become shorter',
    help: 'Try again to get the current version.',
  },
  'too-many-ranges': {
    title: 'The server was asked for too much at once',
    help: 'Try again with fewer connections.',
  },
  'not-cached': {
    title: 'The edge does not have the file',
    help: 'Try again, or turn edges off for this download.',
  },
  'inside-request-refused': {
    title: 'The edge refuses such requests',
    help: 'Check the address of the edge under Settings, Edges.',
  },
  'bad-chunk-name': {
    title: 'The edge did not understand the request',
    help: 'Update Millrace or the edge: they may be of different versions.',
  },
  'loop-detected': {
    title: 'The request goes round in a circle',
    help: 'Remove the edge’s address from the front of the link.',
  },
  'origin-not-allowed': {
    title: 'The edge does not serve this site',
    help: 'Turn edges off for this download, or ask whoever runs the edge to add the site.',
  },
  'private-address': {
    title: 'The server is in a private network',
    help: 'Turn edges off for this download: edges do not fetch from private networks.',
  },
  'other-site': {
    title: 'A web page asked an edge that serves its own user only',
    help: 'Open the address in a tab of its own.',
  },
  'token-required': {
    title: 'The edge asks for its administration token',
    help: 'Check the address of the edge under Settings, Edges.',
  },
  'too-many-transfers': {
    title: 'Too many downloads from this edge at once',
    help: 'Wait for one to finish, or use fewer connections.',
  },
  'too-many-origins': {
    title: 'Too many servers through this edge',
    help: 'Wait some minutes, or for downloads from other servers to finish, or turn edges off for this one.',
  },
  'too-many-requests': {
    title: 'The server wants a break',
    help: 'Millrace tries again by itself once the server allows it.',
  },
  'too-much-fetched': {
    title: 'Too many small pieces were asked for',
    help: 'Wait a moment; the download goes on by itself.',
  },
  'content-type-refused': {
    title: 'The edge does not serve files of this kind',
    help: 'Turn edges off for this download.',
  },
  'file-too-large': {
    title: 'The file is too large for the edge',
    help: 'Turn edges off for this download.',
  },
  'quota-exhausted': {
    title: 'The edge has sent enough of this site for now',
    help: 'Try again later, or turn edges off for this download.',
  },
  'link-invalid': {
    title: 'The link is not complete or has been changed',
    help: 'Copy the whole link again from where you found it.',
  },
  'link-expired': {
    title: 'The link has expired',
    help: 'Get a new one from where you found it; what is there already is kept.',
  },
  'out-of-memory': {
    title: 'The edge has no memory left',
    help: 'Millrace tries again by itself. Without the edge it works now, too.',
  },
  draining: { title: 'The edge is shutting down', help: 'Try again in a moment.' },
  'pin-refused': {
    title: 'The edge cannot pin the file',
    help: 'Release other pins of the edge, or ask for less or for a shorter time.',
  },
  'no-such-entry': {
    title: 'The edge has no such entry',
    help: 'It may have ended: look at the edge’s lists.',
  },
  'not-cacheable': {
    title: 'Edges cannot keep the file',
    help: 'Download it from its own server.',
  },
  'origin-not-found': {
    title: 'The server has no such file',
    help: 'Check the link, or get a new one from the page where you found it.',
  },
  'origin-gone': {
    title: 'The file has been taken off the server',
    help: 'Get a new link. What has been downloaded is kept.',
  },
  'origin-denied': {
    title: 'The server refuses access',
    help: 'The link may have expired or need a log-in. Get a new one; what is there is kept.',
  },
  'origin-busy': {
    title: 'The server is busy',
    help: 'Millrace tries again by itself. You can also try now.',
  },
  'origin-error': {
    title: 'The server has a problem',
    help: 'Try again later. If it stays like this, tell whoever runs the server.',
  },
  'origin-unreachable': {
    title: 'The server cannot be reached',
    help: 'Check the link and your network, then try again.',
  },
  'origin-refused': {
    title: 'The server refuses connections',
    help: 'Check the port in the link. Millrace tries again by itself a few times.',
  },
  'origin-unknown': {
    title: 'There is no server of that name',
    help: 'Check how the link is spelled.',
  },
  'network-away': {
    title: 'This computer has no network',
    help: 'The download goes on by itself once it is connected again.',
  },
  'origin-timeout': { title: 'The server does not answer', help: 'Try again later.' },
  'origin-reset': {
    title: 'The connection broke',
    help: 'Try again: it continues where it stopped.',
  },
  'too-many-redirects': {
    title: 'The link leads on and on',
    help: 'Open it in a browser and copy the link at its end.',
  },
  'bad-redirect': {
    title: 'The link leads nowhere',
    help: 'Tell whoever runs the server, or look for another link.',
  },
  'certificate-invalid': {
    title: 'The server’s certificate cannot be trusted',
    help: 'Check the clock of this computer. The log-in page of a hotel or café may be in between.',
  },
  'proxy-failed': {
    title: 'The proxy does not work',
    help: 'Check its address under Settings, Proxy, then try again.',
  },
  'proxy-denied': {
    title: 'The proxy refuses access',
    help: 'Check user name and password under Settings, Proxy.',
  },
  'range-ignored': {
    title: 'The server cannot send parts of files',
    help: 'Try again: the file then comes in one piece.',
  },
  'wrong-range': {
    title: 'The server sent another part of the file than asked for',
    help: 'Nothing of it was used. Look for another server.',
  },
  'wrong-length': {
    title: 'The server sent more or less than it announced',
    help: 'Nothing of it was used. Try again, or look for another server.',
  },
  'wrong-encoding': {
    title: 'The server sent the file in another form',
    help: 'Look for another server.',
  },
  'wrong-digest': {
    title: 'The data arrived damaged',
    help: 'Nothing of it was used. Try again, or look for another server.',
  },
  'version-changed': {
    title: 'The file changed during the download',
    help: 'Try again to get the new version.',
  },
  'rest-missing': {
    title: 'No server that is left has the rest of the file',
    help: 'Add another link to the same file and resume. What has been downloaded is kept.',
  },
  'version-unproven': {
    title: 'The server does not say which version it sent',
    help: 'Look for another server.',
  },
  'source-refused': {
    title: 'This source is not used, for the safety of the file or of your network',
    help: 'If it is meant, add its link yourself, or give a checksum of the file.',
  },
  'different-file': {
    title: 'The new link leads to another file',
    help: 'Give a link to the same file, or add this one as a new download.',
  },
  'malformed-response': {
    title: 'The server’s answer makes no sense',
    help: 'Look for another server.',
  },
  'bad-option': { title: 'A setting has a value that cannot be used', help: 'Correct it.' },
  'bad-metalink': {
    title: 'The Metalink file cannot be understood',
    help: 'Get it again from where you found it.',
  },
  'bad-manifest': {
    title: 'The manifest cannot be used',
    help: 'Nothing has been changed. The folder has to be published again.',
  },
  'contradicting-statements': {
    title: 'Two sources say different things about the file',
    help: 'One of them is wrong or about another version. Leave it out.',
  },
  'checksum-mismatch': {
    title: 'The file does not have the checksum it should have',
    help: 'Nothing was saved. Check the checksum; if it is right, the file at the server is damaged.',
  },
  'file-exists': {
    title: 'There is a file of this name already',
    help: 'Save under another name or in another folder.',
  },
  'file-in-use': {
    title: 'Another download writes to the same file',
    help: 'Wait for it to finish, or save under another name.',
  },
  'disk-full': {
    title: 'The disk is full',
    help: 'Make some room, then try again: it continues where it stopped.',
  },
  'file-not-writable': {
    title: 'The file cannot be written',
    help: 'Check the folder and its permissions, or choose another folder.',
  },
  'file-changed': {
    title: 'Another program has changed the unfinished file',
    help: 'Try again: what is still right is kept.',
  },
  'daemon-running': { title: 'Millrace is running already', help: 'Use the one that runs.' },
  'daemon-not-running': { title: 'Millrace is not running', help: 'Start it again.' },
  'daemon-silent': { title: 'Millrace does not answer', help: 'Start it again.' },
  'state-unusable': {
    title: 'Millrace cannot read its own files',
    help: 'See daemon.log in its folder for which one it is.',
  },
  'no-such-download': { title: 'This download is not in the list any more', help: 'Add it again.' },
  'wrong-state': { title: 'That is not possible just now', help: 'Look at the download’s state.' },
  'queue-full': { title: 'The list is full', help: 'Remove some downloads first.' },
  interrupted: { title: 'Interrupted', help: 'Try again: it continues where it stopped.' },
  internal: {
    title: 'Something went wrong inside Millrace',
    help: 'This is a fault of Millrace. Please report it, with the log.',
  },
};
