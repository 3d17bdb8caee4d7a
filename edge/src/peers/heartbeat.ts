/** A heartbeat: its request, its answer, and bounds on what is read of either. */

import type { IncomingMessage } from 'node:http';
import { MAX_RTT_MS, MAX_TOLD_NETWORKS } from '@millrace/shared/cdn/near/network-rtts';
import { MAX_TOLD } from '@millrace/shared/cdn/routing/heartbeat-turns';
import { INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import { MAX_KEPT_DEPOTS } from '@millrace/shared/cdn/routing/keepers';
import { MAX_PEERS } from '@millrace/shared/cdn/routing/peer-set';
import { MAX_MATES } from '@millrace/shared/cdn/routing/site';
import * as z from 'zod';
import { nodeUrl } from '../config/seeds.ts';

/** Most seconds since a node was heard that are told. */
export const MAX_HEARD_S = 9999;
const MAX_ANSWER_BYTES = 256 * 1024;
const DIGEST = /^[0-9a-f]{16}$/;
const NETWORK = /^[0-9a-f.:]{1,20}\/(?:24|48)$/;
const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

export const ANSWER = z.object({
  name: z.string().regex(NODE_NAME),
  /** Identifies this run of the node: tells two nodes with the same name apart. */
  instance: z.string().max(64),
  load: z.number().min(0).max(1e9),
  weight: z.number().positive().max(1000),
  policy: z.string().regex(/^(open|closed|org:[A-Za-z0-9._-]{1,64})$/),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .max(500)
    .optional(),
  /** IP addresses at which clients reach it. */
  publicAddresses: z
    .array(z.union([z.ipv4(), z.ipv6()]))
    .max(8)
    .optional(),
  draining: z.boolean(),
  sees: z
    .array(z.tuple([z.string().regex(NODE_NAME), z.number().positive().max(1000)]))
    .max(MAX_PEERS),
  /** Seconds since it heard each of those. */
  heard: z.array(z.number().min(0).max(MAX_HEARD_S)).max(MAX_PEERS).optional(),
  peerUrl: z
    .url({ protocol: /^https?$/ })
    .max(200)
    .optional(),
  /** Digests of its log of purges, and of its pins of the network. */
  purges: z.string().regex(DIGEST).optional(),
  pins: z.string().regex(DIGEST).optional(),
  /** Digest of what its policy serves. */
  serves: z.string().regex(DIGEST).optional(),
  /** Part of what it can take that is free. */
  room: z.number().min(0).max(1).optional(),
  /** Name of its depot, with which the ids of that end. */
  depot: z
    .string()
    .regex(/^[A-Za-z0-9_-]{4}$/)
    .optional(),
  /** Room that its depot still has; absent if it takes nothing. */
  depotRoom: z.object({ freeBytes: z.int().min(0), maxSeconds: z.int().min(0) }).optional(),
  /** Names of the depots of whose exNodes it keeps copies. */
  keepsOf: z
    .array(z.string().regex(/^[A-Za-z0-9_-]{4}$/))
    .max(MAX_KEPT_DEPOTS)
    .optional(),
  /** Organisation that runs it. */
  org: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .optional(),
  /** Place that it shares with other nodes. */
  site: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/)
    .optional(),
  /** Nodes at its site that answer it, with their load. */
  mates: z
    .array(z.tuple([z.string().regex(NODE_NAME), z.number().min(0).max(1e9)]))
    .max(MAX_MATES)
    .optional(),
  /** Networks of its clients, and their round trips, milliseconds. */
  near: z
    .array(z.tuple([z.string().regex(NETWORK), z.number().min(0).max(MAX_RTT_MS)]))
    .max(MAX_TOLD_NETWORKS)
    .optional(),
  insidePort: z.int().min(1).max(65535).optional(),
  nodes: z.array(z.url({ protocol: /^https?$/ }).max(200)).max(MAX_TOLD),
  /** How many of these, from the first on, are its peers. */
  nearNodes: z.int().min(0).max(MAX_TOLD).optional(),
});

/** A node's name, and the address at which it wants to be reached, if another. */
export const INTRODUCTION = ANSWER.pick({ name: true, peerUrl: true, insidePort: true });

export type Introduction = z.infer<typeof INTRODUCTION>;
export type HeartbeatAnswer = z.infer<typeof ANSWER>;

/** Returns the address at which the sender of a heartbeat can be asked. */
export function askingNode(req: IncomingMessage): string | undefined {
  const url = String(req.headers[INSIDE.nodeUrl] ?? '');
  if (url !== '') return url.length <= 200 ? webOrigin(url) : undefined;
  const port = Number(/^\d{1,5}$/.exec(String(req.headers[INSIDE.nodePort] ?? ''))?.[0] ?? 0);
  const address = req.socket.remoteAddress;
  return port > 0 && port < 65536 && address !== undefined ? nodeUrl(address, port) : undefined;
}

/** Returns the origin of an http or https URL: that of other URLs is the text "null". */
function webOrigin(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.origin : undefined;
}

/**
 * Returns the address at which a node that was reached at `url` wants to be asked: this or another
 * one.
 */
export function wantedAddress(url: string, { peerUrl, insidePort }: Introduction): string {
  const own = new URL(peerUrl ?? url);
  if (peerUrl === undefined && insidePort !== undefined) own.port = String(insidePort);
  return own.origin;
}

/** Reads a body that is not too long. @throws Error */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error('the answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
