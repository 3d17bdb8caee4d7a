/** Failures of the page that receives encrypted files, in words for the person who opened the link. */

/**
 * Words by the kind of failure: its name, and advice.
 *
 * @type {Readonly<Record<string, readonly [string, string]>>}
 */
export const FAILURES = {
  'no-key': [
    'The key is missing',
    'The link is not complete: it has to end in #k. and 43 more characters. Ask the sender for the whole link, and paste it into the address bar.',
  ],
  'wrong-key': [
    'The key does not open this file',
    'The link was changed on its way, or belongs to another file. Ask the sender for the whole link.',
  ],
  'bad-exnode': [
    'The description of the file cannot be used',
    'It is damaged, or is not the one that the key was made for. Ask the sender to send the file again.',
  ],
  expired: [
    'The link has expired',
    'The servers have deleted the file at the end of its time. Ask the sender to send it again.',
  ],
  revoked: [
    'The file is not there any more',
    'The sender has removed it, or a part of the link is wrong. Ask the sender for a new link.',
  ],
  blocked: [
    'An operator has blocked this file',
    'The server does not give it away. Ask the sender for another way.',
  ],
  damaged: [
    'A part of the file is damaged',
    'What a server sent is not what the sender has stored, and no other server has this part. Nothing has been saved. Try again later, or ask the sender to send the file again.',
  ],
  unreachable: [
    'A server does not answer',
    'A part of the file cannot be had at present. Nothing has been saved. Look whether you are online, and try again.',
  ],
  nowhere: [
    'A part of the file is at no place that this page can ask',
    'Nothing has been saved. Use Millrace itself, or ask the sender to send the file again.',
  ],
  busy: ['The servers are busy', 'Nothing has been saved. Try again in a minute.'],
  'no-room': [
    'There is not enough room',
    'The browser could not store the file. Nothing has been saved. Free some space on the disk, and try again.',
  ],
  'too-large': [
    'This browser cannot save a file of this size from a page',
    'Open the link in Chrome, Edge or another browser based on Chromium, or use Millrace itself.',
  ],
  'no-crypto': [
    'This browser cannot decrypt here',
    'Browsers decrypt only on pages with https. Ask the sender for a link that begins with https, or use Millrace itself.',
  ],
  internal: ['Something went wrong in this page', 'Nothing has been saved. Load the page again.'],
};

/** Order in which failures of several servers count: the first says most about the file. */
const WEIGHT = ['damaged', 'blocked', 'busy', 'unreachable', 'expired', 'revoked'];

export class Failure extends Error {
  /**
   * @param {string} kind a key of `FAILURES`
   * @param {string} [detail] for the curious
   */
  constructor(kind, detail = '') {
    super(`${kind}${detail === '' ? '' : `: ${detail}`}`);
    this.kind = kind;
    this.detail = detail;
  }

  /** True if another try may help at once. */
  get isPassing() {
    return this.kind === 'unreachable' || this.kind === 'busy';
  }
}

/**
 * Returns the failure that says most of those that servers have answered with. What depots answer
 * themselves counts, unless it says only that they cannot be had now and the edge knows more: the edge
 * answers the same whatever has become of them.
 *
 * @param {readonly Failure[]} failures of places
 * @param {Failure} [whole] of the edge that puts the file together
 * @returns {Failure} `nowhere` if there is no place, and the edge has no more to say
 */
export function worstOf(failures, whole) {
  const sorted = [...failures].sort((a, b) => WEIGHT.indexOf(a.kind) - WEIGHT.indexOf(b.kind));
  const [worst] = sorted;
  if (worst === undefined) {
    return whole === undefined || whole.kind === 'unreachable' ? new Failure('nowhere') : whole;
  }
  return worst.isPassing && whole !== undefined && !whole.isPassing ? whole : worst;
}
