/**
 * Talks to a depot: reserves space, asks how much of an upload is stored, appends, releases
 * (draft-ietf-httpbis-resumable-upload-15). One exchange per call, no retry.
 */

import type { LookupFunction } from 'node:net';
import { MillraceError } from '@millrace/shared/base/errors';
import type { PullPart } from '@millrace/shared/cdn/depot/pull-plan';
import type { PullProspect } from '@millrace/shared/cdn/depot/pull-prospect';
import { MAX_EXNODE_BLOCKS } from '@millrace/shared/exnode/exnode';
import { MAX_PROBLEM_BYTES } from '@millrace/shared/http/answers/problem';
import { fileDigests } from '@millrace/shared/http/fields/digest-fields';
import {
  PARTIAL_UPLOAD,
  readUploadFields,
  readUploadLimit,
  uploadFields,
} from '@millrace/shared/http/fields/upload-fields';
import { PROSPECT_PATH } from '@millrace/shared/http/urls/depot-link';
import { tryRead } from '@millrace/shared/schema/read';
import { create as createDisposition } from 'content-disposition';
import * as z from 'zod';
import { type Answer, type Content, contentOf, exchange } from '../net/depot-exchange.ts';

const url = z.url({ protocol: /^https?$/ }).max(8192);
const ALLOCATED = z.object({ read: url, write: url, manage: url, expires: z.iso.datetime() });
const CHANGED = z.object({ expires: z.iso.datetime() });
/** A pull that is under way, or has failed: its code may be one of a later version. */
const PULL = z.object({
  state: z.string(),
  code: z.string().optional(),
  message: z.string().max(1000).optional(),
});
const STORED = z.object({
  damaged: z.boolean(),
  offset: z.int().min(0),
  complete: z.boolean(),
  sha256: z.string().optional(),
  pull: PULL.optional(),
});
const PROSPECT = z.union([
  z.object({ state: z.literal('open') }),
  z.object({
    state: z.enum(['refused', 'unreachable', 'unknown']),
    code: z.string().max(100),
    message: z.string().max(1000),
  }),
]);
const BLOCKS = z.object({ blocks: z.array(z.string().length(64)).max(MAX_EXNODE_BLOCKS) });
const ROOM = z.object({
  owner: z.string().max(100),
  bytes: z.int().min(0),
  each: z.int().min(0).optional(),
  seconds: z.int().min(0),
});
/** Longest answer with the digests of blocks. */
const MAX_BLOCKS_BYTES = MAX_PROBLEM_BYTES + 70 * MAX_EXNODE_BLOCKS;

/** Longest list of edges: those of earlier versions list all of a network. */
const MAX_EDGES_BYTES = 512 * 1024;

/** An allocation, as the depot has told its owner. */
export type Allocated = z.output<typeof ALLOCATED>;

/** State of an allocation, as far as its owner's programs use it. */
export type StoredState = z.output<typeof STORED>;

/** State of an upload. */
export interface UploadState {
  readonly offset: number;
  readonly complete: boolean;
  /** SHA-256 of a complete upload, hexadecimal. */
  readonly sha256: string | undefined;
  /** Largest length of the whole, bytes; undefined: not told. */
  readonly maxSize: number | undefined;
}

/**
 * Reserves space.
 *
 * @param edge base URL of the depot
 * @throws MillraceError the depot's own; those of the network; `malformed-response`
 */
export async function allocate(
  edge: string,
  token: string,
  wanted: {
    readonly bytes: number;
    readonly seconds: number;
    readonly name?: string;
    readonly type?: string | undefined;
    /** Set for space that a guest is to fill. */
    readonly guest?: true;
  },
  signal: AbortSignal,
): Promise<Allocated> {
  const { text } = await exchange({
    method: 'POST',
    url: `${edge}/-/depot`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    content: contentOf(JSON.stringify(wanted)),
    signal,
  });
  return read(ALLOCATED, text);
}

/** Reserves space for an upload whose length is not known: it grows. @throws as `allocate` */
export async function allocateOpen(
  edge: string,
  token: string,
  { name, seconds }: { readonly name: string; readonly seconds: number },
  signal: AbortSignal,
): Promise<Allocated> {
  const { text } = await exchange({
    method: 'POST',
    url: `${edge}/-/depot?for=${seconds}s`,
    headers: {
      authorization: `Bearer ${token}`,
      'content-disposition': createDisposition(name, { type: 'attachment' }),
      ...uploadFields({ complete: false }),
    },
    content: contentOf(''),
    signal,
  });
  return read(ALLOCATED, text);
}

/** Limits of an owner in a depot: bytes that are left, bytes of one file, and the longest time. */
export type DepotRoom = z.output<typeof ROOM>;

/** Asks a depot what the owner of a token may store. @throws as `allocate` */
export async function roomOf(edge: string, token: string, signal: AbortSignal): Promise<DepotRoom> {
  const headers = { authorization: `Bearer ${token}` };
  return read(
    ROOM,
    (await exchange({ method: 'GET', url: `${edge}/-/depot`, headers, signal })).text,
  );
}

/**
 * Asks an edge for the edges of its network with room.
 *
 * @param lookup of the edge's host
 * @returns JSON
 * @throws as `allocate`
 */
export async function edgesWithRoomOf(
  edge: string,
  need: { readonly bytes: number; readonly seconds: number },
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<string> {
  const target = `${edge}/-/edges?bytes=${need.bytes}&seconds=${need.seconds}`;
  const maxBytes = MAX_EDGES_BYTES;
  return (await exchange({ method: 'GET', url: target, maxBytes, lookup, signal })).text;
}

/** Gives a lease another end. @returns the end. @throws as `allocate` */
export async function extend(
  manage: string,
  seconds: number,
  signal: AbortSignal,
): Promise<string> {
  const content = contentOf(JSON.stringify({ seconds }));
  const headers = { 'content-type': 'application/json' };
  const { text } = await exchange({ method: 'PATCH', url: manage, headers, content, signal });
  return read(CHANGED, text).expires;
}

/** Asks for the state of an allocation. @throws as `allocate` */
export async function stateOfStored(manage: string, signal: AbortSignal): Promise<StoredState> {
  return readStored((await exchange({ method: 'GET', url: manage, signal })).text);
}

/**
 * Asks for the SHA-256 of each block of a complete allocation, hexadecimal. The depot reads all of it
 * for that.
 *
 * @throws as `allocate`
 */
export async function blocksOf(
  manage: string,
  blockBytes: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const target = `${manage}?blocks=${blockBytes}`;
  const maxBytes = MAX_BLOCKS_BYTES;
  const { text } = await exchange({ method: 'GET', url: target, maxBytes, signal });
  return read(BLOCKS, text).blocks;
}

/**
 * Lets a depot pull the bytes of an allocation. The pull goes on without this process.
 *
 * @throws as `allocate`
 */
export async function pull(
  write: string,
  wanted: { readonly parts: readonly PullPart[]; readonly sha256: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const content = contentOf(JSON.stringify(wanted));
  const headers = { 'content-type': 'application/json' };
  await exchange({ method: 'POST', url: `${write}/pull`, headers, content, signal });
}

/**
 * Asks a depot whether it could pull from a link. The depot asks the link's server for that.
 *
 * @throws as `allocate`; depots of earlier versions do not know the question
 */
export async function mayPull(
  edge: string,
  token: string,
  link: string,
  signal: AbortSignal,
): Promise<PullProspect> {
  const content = contentOf(JSON.stringify({ from: link }));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const url = edge + PROSPECT_PATH;
  const { text } = await exchange({ method: 'POST', url, headers, content, signal });
  return read(PROSPECT, text);
}

/** Reads a depot's answer about an allocation. @throws MillraceError `malformed-response` */
export function readStored(text: string): StoredState {
  return read(STORED, text);
}

/** Ends an allocation. @throws as `allocate` */
export async function release(manage: string, signal: AbortSignal): Promise<void> {
  await exchange({ method: 'DELETE', url: manage, signal });
}

/**
 * Asks how much of an upload is stored.
 *
 * @param headers further fields: those by which a guest shows that the upload is his own
 * @throws as `allocate`; `upload-running` if it is another guest's
 */
export async function stateOf(
  write: string,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<UploadState> {
  return readState(await exchange({ method: 'HEAD', url: write, headers, signal }));
}

/** Appends the rest of a file, which completes the upload. Parameters and errors as of `append`. */
export function appendRest(
  write: string,
  offset: number,
  content: Content,
  onStored: (offset: number) => void,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<UploadState> {
  return append(write, offset, content, true, onStored, signal, headers);
}

/**
 * Appends bytes to an upload.
 *
 * @param complete true if they are its last ones
 * @param onStored called with the number of bytes that are stored for certain
 * @param headers further fields, as of `stateOf`
 * @throws as `allocate`, and errors of the pieces
 */
export async function append(
  write: string,
  offset: number,
  content: Content,
  complete: boolean,
  onStored: (offset: number) => void,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<UploadState> {
  const answer = await exchange({
    method: 'PATCH',
    url: write,
    headers: {
      ...headers,
      'content-type': PARTIAL_UPLOAD,
      ...uploadFields({ offset, complete }),
    },
    content,
    onInterim(fields) {
      const stored = readUploadFields(fields).offset;
      if (stored !== undefined) onStored(stored);
    },
    signal,
  });
  return readState(answer);
}

function readState({ headers, status }: Answer): UploadState {
  const { offset, complete } = readUploadFields(headers);
  if (offset === undefined || complete === undefined) {
    throw new MillraceError('malformed-response', `the depot names no offset (${status})`);
  }
  const fields = { 'repr-digest': headers['repr-digest'] };
  const digest = fileDigests(fields, 200).find(({ algorithm }) => algorithm === 'sha256');
  const { maxSize } = readUploadLimit(headers);
  return { offset, complete, sha256: digest?.hex, maxSize };
}

function read<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  try {
    const result = tryRead(schema, JSON.parse(text));
    if (result.success) return result.data;
  } catch {
    // Reported below.
  }
  throw new MillraceError('malformed-response', 'that is not the answer of a depot');
}
