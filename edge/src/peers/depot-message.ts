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
  /** Time until its lease ends: a duration, because clocks of nodes differ. */
  readonly leftMs: Millis;
}

const MESSAGE = z.object({
  length: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().max(1000).optional(),
  type: z.string().max(200).optional(),
  leftMs: z.number().min(0).max(1e15),
});

/** Writes the message. */
export function writeStoredFile({ length, sha256, name, type, leftMs }: StoredFile): string {
  return JSON.stringify({ length, sha256, name, type, leftMs });
}

/** Reads the message. @throws Error if the text is none */
export function readStoredFile(text: string): StoredFile {
  return readOrThrow(MESSAGE, JSON.parse(text));
}
