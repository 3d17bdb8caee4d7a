/** Answers to heartbeats. */

import type { PeerInfo } from '../src/cdn/routing/peer.ts';

/** Makes the answer of the node `a`, which is open and idle and sees no other. */
export function peerInfo(part: Partial<PeerInfo> = {}): PeerInfo {
  return {
    name: 'a',
    load: 0,
    weight: 1,
    policy: 'open',
    publicUrl: undefined,
    draining: false,
    sees: [],
    ...part,
  };
}
