/** A depot's message to another node about a file, once that node has shown a capability's proof. */

import type { Millis } from '@millrace/shared/base/clock';
import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';

/** A complete file of a depot. */
export interface StoredFile {
  readonly length: number;
  /** Hexadecimal. */
  readonly sha256: string;
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  /** Number of times that an exNode has been replaced; absent: none. */
  readonly edition?: number | undefined;
  /** Time until its lease ends: a duration, because clocks of nodes differ. */
  readonly leftMs: Millis;
}

const MESSAGE = z.object({
  length: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().max(1000).optional(),
  type: z.string().max(200).optional(),
  edition: z.int().min(1).optional(),
  leftMs: z.number().min(0).max(1e15),
});

/** Writes the message. */
export function writeStoredFile(file: StoredFile): string {
  const { length, sha256, name, type, edition, leftMs } = file;
  return JSON.stringify({ length, sha256, name, type, edition, leftMs });
}

/** Reads the message. @throws Error if the text is none */
export function readStoredFile(text: string): StoredFile {
  return readOrThrow(MESSAGE, JSON.parse(text));
}
