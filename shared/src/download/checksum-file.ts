import type { Digest } from './digest.ts';
export function sidecarCandidates(_url: string): string[] {
  return [];
}
export function findDigest(_t: string, _s: string, _n: string): Digest[] {
  return [];
}
