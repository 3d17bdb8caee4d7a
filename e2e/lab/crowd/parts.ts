/** Assembles a file from an answer whose chunks came in any order. */

import { readFile, writeFile } from 'node:fs/promises';
import {
  MultipartReader,
  multipartBoundary,
} from '@millrace/shared/http/messages/multipart-reader';

/**
 * Replaces a multipart body with the file that it contains.
 *
 * @param headPath file with the answer's head, written by curl
 * @throws Error if parts are missing or overlap
 */
export async function assembled(path: string, headPath: string, bytes: number): Promise<void> {
  const head = await readFile(headPath, 'latin1');
  const type = /^content-type: *(.*?)\r?$/im.exec(head)?.[1];
  const reader = new MultipartReader(String(multipartBoundary(type)));
  const whole = Buffer.alloc(bytes);
  let got = 0;
  for (const event of reader.push(await readFile(path))) {
    if (event.kind !== 'data') continue;
    whole.set(event.bytes, event.position);
    got += event.bytes.length;
  }
  if (got !== bytes) throw new Error(`${got} bytes in parts, not ${bytes}`);
  await writeFile(path, whole);
}
