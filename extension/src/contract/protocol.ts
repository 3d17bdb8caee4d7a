/**
 * Messages between the background and the engine's worker. In Chromium the offscreen document
 * passes them on, over a port that ends whenever the service worker does; the engine continues
 * without it.
 */

import * as z from 'zod';
import type { OfferState, ShownDownload, TakerProblem } from './taker.ts';

const id = z.string().min(1).max(64);
const url = z.string().min(1).max(65_536);
const headers = z.record(z.string().max(256), z.string().max(65_536)).readonly();
const edges = z.array(z.string().max(2048)).max(64).readonly();
const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const offer = z.object({
  handOff: id,
  url,
  finalUrl: url,
  fileName: z.string().max(4096),
  length: bytes,
  etag: z.string().max(8192).optional(),
  lastModified: z.string().max(256).optional(),
  contentType: z.string().max(1024).optional(),
  headers,
  edges,
  published: edges.optional(),
  onlyRenews: z.boolean().optional(),
});

const link = z.object({
  url,
  fileName: z.string().max(4096).optional(),
  headers,
  edges,
  published: edges.optional(),
});

const savedFile = z.object({
  downloadId: z.number().int(),
  length: bytes,
  /** Name in the user's folder, which may differ from the ordered one. */
  fileName: z.string().min(1).max(4096),
});

/** A file that the browser has put into the user's folder. */
export type SavedFile = z.output<typeof savedFile>;

const callSchema = z.discriminatedUnion('type', [
  /**
   * The background has started: it wants all `save` events again, and unfinished saves continued.
   */
  z.object({ type: z.literal('start') }),
  z.object({ type: z.literal('offer'), offer }),
  z.object({ type: z.literal('commit'), handOff: id }),
  z.object({ type: z.literal('withdraw'), handOff: id }),
  z.object({ type: z.literal('offerState'), handOff: id }),
  z.object({ type: z.literal('list') }),
  z.object({ type: z.literal('command'), id, command: z.enum(['pause', 'resume', 'remove']) }),
  z.object({ type: z.literal('add'), links: z.array(link).max(10_000).readonly() }),
  /** The browser has begun to save a file. */
  z.object({ type: z.literal('saving'), id, url, downloadId: z.number().int() }),
  /** The file is in the user's folder. */
  z.object({ type: z.literal('saved'), id, file: savedFile }),
  z.object({
    type: z.literal('not-saved'),
    id,
    code: z.enum(['disk-full', 'file-not-writable', 'interrupted', 'origin-reset', 'wrong-length']),
    message: z.string().max(1024),
  }),
]);

export type EngineCall = z.output<typeof callSchema>;

/** Code of the reason why the browser has not saved a file. */
export type NotSavedCode = Extract<EngineCall, { type: 'not-saved' }>['code'];

export interface EngineResults {
  start: Record<string, never>;
  offer: Record<string, never>;
  commit: { readonly id: string };
  withdraw: Record<string, never>;
  offerState: OfferState;
  list: { readonly downloads: readonly ShownDownload[] };
  command: Record<string, never>;
  add: { readonly ids: readonly string[] };
  /** `known` false: the download was removed meanwhile, and its file is not to be saved. */
  saving: { readonly known: boolean };
  saved: { readonly known: boolean };
  'not-saved': Record<string, never>;
}

/**
 * Request to the engine. Its `id` is chosen by the asker and never used twice: answers to a
 * background that has ended reach its successor, which must not take them for answers to its own
 * calls.
 */
export const requestSchema = z.object({ id, call: callSchema });
export type EngineRequest = z.output<typeof requestSchema>;

/** A file for the browser to put into the user's folder. */
export interface Save {
  readonly id: string;
  /** The engine's `blob:` URL, or the URL at the origin, which the browser has to fetch itself. */
  readonly url: string;
  readonly fileName: string;
  /** Length that the file must have, bytes; undefined if not known. */
  readonly length?: number | undefined;
  /**
   * The browser's download that was begun for this file, perhaps in an earlier run, and its URL.
   */
  readonly begun?: { readonly url: string; readonly downloadId: number } | undefined;
}

interface CallFailure {
  readonly problem: TakerProblem;
  readonly message: string;
  readonly code?: string | undefined;
}

export type EngineMessage =
  | { readonly id: string; readonly result: object }
  | { readonly id: string; readonly failed: CallFailure }
  /** The list of downloads has changed; sent at most four times a second. */
  | { readonly event: 'changed' }
  | { readonly event: 'save'; readonly save: Save }
  /** The engine has no work left: its document can be closed. */
  | { readonly event: 'idle' };
