/** The list of files that were sent, as text. */

import { expect, test } from '@jest/globals';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { shareLines } from './share-text.ts';

const share: ShareView = {
  ...{
    id: '0123456789abcdef',
    name: 'talk.tar',
    bytes: 2048,
    state: 'shared',
    sentBytes: 0,
    totalBytes: 2048,
  },
  ...{ seconds: 60, createdAt: 0, encrypted: false, wholeFile: true, places: [] },
  ...{ link: 'https://edge.example/-/d/x/y/talk.tar', expires: 0 },
};

test('a shared file shows its end and its link', () => {
  expect(shareLines([share])).toEqual([
    '012345  talk.tar  2 KiB  shared  until 1970-01-01T00:00:00.000Z',
    '  https://edge.example/-/d/x/y/talk.tar',
  ]);
});

test('an upload shows how far it is, and names no control characters', () => {
  const { link, expires, ...rest } = share;
  const one = { ...rest, name: 'a\u001b[2Jb', state: 'sending', sentBytes: 512 } as const;
  const [line] = shareLines([one]);
  expect(line).toMatch(/sending, 25%$/);
  expect(line).not.toContain('\u001b');
});

test('an invitation shows both links: that of the guest, and that of the file', () => {
  const link = 'https://edge.example/-/depot/guest#g.x';
  const guestFile = 'https://edge.example/-/d/x/y/file';
  const one = { ...share, link, guestFile, invitation: true, name: 'file' };
  expect(shareLines([one])).toEqual([
    '012345  a file from a guest  up to 2 KiB  invited  until 1970-01-01T00:00:00.000Z',
    `  ${link}`,
    `  file  ${guestFile}`,
  ]);
});

test('an empty list says so', () => {
  expect(shareLines([])).toEqual(['Nothing was sent.']);
});
