/** Follows a file that comes to another node in one stream; where that node fails, the next one. */

import { MillraceError } from '@millrace/shared/base/errors';
import { isStreamTag } from '@millrace/shared/cdn/chunks/version-tag';
import type { RequestDemands } from '@millrace/shared/http/answers/freshness';
import { canPin, matchVersion } from '@millrace/shared/http/fields/validators';
import type { Pointer } from '../files/file-version.ts';
import { avoiding, type Path } from '../files/path.ts';
import type { ForwardTarget } from '../peers/membership.ts';
import type { Network } from '../peers/network.ts';
import type { RemoteVersion } from '../peers/version-message.ts';
import { FollowedBody } from './followed-body.ts';
import type { RunningStream } from './running-stream.ts';
import type { StreamBody, StreamQuestion } from './stream-types.ts';
import type { Streams } from './streams.ts';

export interface FollowOptions {
  readonly network: Network;
  readonly streams: Streams;
  readonly chunkBytes: number;
}

type Running = Extract<RemoteVersion, { kind: 'stream' }> & { readonly peer: ForwardTarget };
/** A node that has a version, and the nodes that it has it from. */
interface Source {
  readonly peer: ForwardTarget;
  readonly tag: string;
  readonly sources: readonly string[];
}

const DEMANDS: RequestDemands = {
  revalidate: false,
  onlyIfCached: false,
  maxAgeMs: undefined,
};

/**
 * Begins to follow.
 *
 * @returns undefined if this node is to ask the origin itself
 */
export function followRemote(
  { network, streams, chunkBytes }: FollowOptions,
  question: Omit<StreamQuestion, 'scope'> & { readonly path: Path },
  remote: Running,
): { stream: RunningStream; pointer: Pointer } | undefined {
  const { url, path, generation, grant, client } = question;
  const { pointer, peer, sources } = remote;
  const { tag, validators } = pointer.version;
  if (sources.includes(network.name) || !streams.rules.canKeep) return undefined;
  const lost = new Set<string>();
  const bodyOf = (at: Source, from: number) =>
    new FollowedBody({
      from,
      sources: [at.peer.name, ...at.sources],
      chunkBytes,
      fetch: (range, signal) =>
        network.fetchPiece(at.peer, { url: url.href, tag: at.tag, range }, path, signal),
    });
  const next = async (
    signal: AbortSignal,
    stream: RunningStream,
  ): Promise<StreamBody | undefined> => {
    const [last] = stream.sources;
    if (last !== undefined) lost.add(last);
    const asked = avoiding(path, [...lost]);
    const found = await network.findVersion(url.href, DEMANDS, asked, signal);
    if (found === undefined || found.kind === 'tunnel') return undefined;
    if (found.kind === 'answer') throw changed();
    const { version } = found.pointer;
    const others = found.kind === 'stream' ? found.sources : [];
    if (!isStreamTag(version.tag) || others.includes(network.name)) return undefined;
    const isSame = version.tag === tag;
    // Its bytes are compared with those that have come, but what follows is pinned by this alone.
    if (!isSame && (!canPin(validators) || !isPinned(validators, version.validators))) {
      throw changed();
    }
    const from = isSame ? stream.received - (stream.received % chunkBytes) : 0;
    return bodyOf({ peer: found.peer, tag: version.tag, sources: others }, from);
  };
  const body = bodyOf({ peer, tag, sources }, 0);
  return streams.follow({ pointer, body, generation, grant, client, next });
}

function isPinned(...[a, b]: [Pointer['version']['validators'], Pointer['version']['validators']]) {
  return matchVersion(a, b) === 'same';
}

function changed(): MillraceError {
  return new MillraceError('version-changed', 'the node that knows it is gone');
}
