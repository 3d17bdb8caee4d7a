import { expect, test } from '@jest/globals';
import { NEUTRAL_NAME } from '@millrace/shared/exnode/seal';
import { ENCRYPTED_DOCUMENT } from '@millrace/shared/http/urls/depot-link';
import { isEncryptedDocument, isOpened } from './opened.ts';

const CHROMIUM = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

test('a browser that opens a link gets a page, and nothing else does', () => {
  const opened = (headers: Record<string, string>, method = 'GET') => isOpened({ method, headers });
  expect(opened({ accept: CHROMIUM, 'sec-fetch-dest': 'document' })).toBe(true);
  // Without https browsers say nothing of the place.
  expect(opened({ accept: CHROMIUM })).toBe(true);
  for (const headers of [
    {},
    { accept: '*/*' },
    { accept: 'application/json, text/*' },
    { accept: 'text/html;q=0, */*' },
    { accept: '*/*', 'sec-fetch-dest': 'document' },
    { accept: CHROMIUM, 'sec-fetch-dest': 'empty' },
    { accept: CHROMIUM, 'sec-fetch-dest': 'iframe' },
    { accept: CHROMIUM, 'sec-fetch-dest': 'document', range: 'bytes=0-1' },
  ]) {
    expect([headers, opened(headers as Record<string, string>)]).toEqual([headers, false]);
  }
  expect(opened({ accept: CHROMIUM }, 'HEAD')).toBe(false);
});

test('the description of an encrypted file is known by the name that uploads give it', () => {
  expect(ENCRYPTED_DOCUMENT).toBe(`${NEUTRAL_NAME}.exnode`);
  expect(isEncryptedDocument(ENCRYPTED_DOCUMENT)).toBe(true);
  expect(isEncryptedDocument('release.exnode')).toBe(false);
});
