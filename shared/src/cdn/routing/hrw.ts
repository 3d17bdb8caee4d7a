/**
 * Highest Random Weight (Thaler and Ravishankar; NSDI 5.1, figure 8): every node works out by
 * itself which nodes are responsible for a chunk, and nodes with the same peers agree. The score is
 * part of the protocol and pinned by test vectors: it must never change.
 *
 * The chunk's name is hashed once and mixed with each node's precomputed seed, so that ranking a
 * hundred nodes costs no string work.
 */

/** A 64-bit hash as two unsigned 32-bit halves. */
export interface Hash64 {
  readonly high: number;
  readonly low: number;
}

/** A node as routing sees it. */
export interface HrwNode {
  readonly name: string;
  /** Hash of the name, from `hashText`. */
  readonly seed: Hash64;
  /** Share of chunks relative to others, more than 0; 1 is usual. */
  readonly weight: number;
}

/** Hashes a chunk's or node's name; its UTF-16 code units count. */
export function hashText(text: string): Hash64 {
  let high = 0x6a09e667;
  let low = 0xbb67ae85;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    high = (high << 13) | (high >>> 19);
    low = Math.imul(low ^ unit, 0x85ebca77);
    low = (low << 17) | (low >>> 15);
  }
  return mix({ high: high ^ text.length, low: low ^ high });
}

/**
 * Returns the score of a node for a chunk: uniform in [0, 2^53), the same on every platform.
 *
 * @param chunk hash of the chunk's routing key
 */
export function score(chunk: Hash64, seed: Hash64): number {
  const mixed = mix({ high: chunk.high ^ seed.low, low: chunk.low ^ seed.high });
  return mixed.high * 0x200000 + (mixed.low >>> 11);
}

/** Factor below which no rounding can make two weighted scores equal. */
const BEHIND = 1 - 1e-6;

/**
 * Returns the nodes most responsible for a chunk, best first.
 *
 * A node's weight enters as score = -weight / ln(u), u being the uniform score in (0, 1): a node
 * with twice the weight is best for twice the chunks, and changing one node's weight moves chunks
 * from or to that node only.
 *
 * @param key routing key of the chunk
 * @param count how many nodes at most
 */
export function rank<N extends HrwNode>(key: string, nodes: readonly N[], count: number): N[] {
  const chunk = hashText(key);
  const best: N[] = [];
  const values: number[] = [];
  const uniforms: number[] = [];
  for (const node of nodes) {
    const uniform = score(chunk, node.seed);
    // Among nodes of one weight the uniform score decides already: most need no logarithm.
    const last = best.length === count ? best[count - 1] : undefined;
    const least = last?.weight === node.weight ? (uniforms[count - 1] as number) : 0;
    if (uniform < BEHIND * least) continue;
    const value = weighted(uniform, node.weight);
    let at = best.length;
    while (at > 0 && isBetter(value, node.name, values[at - 1] as number, best[at - 1] as N)) at--;
    if (at >= count) continue;
    for (let i = Math.min(best.length, count - 1); i > at; i--) {
      best[i] = best[i - 1] as N;
      values[i] = values[i - 1] as number;
      uniforms[i] = uniforms[i - 1] as number;
    }
    best[at] = node;
    values[at] = value;
    uniforms[at] = uniform;
  }
  return best;
}

/** Compares scores. Names decide between equal scores, so that all nodes decide alike. */
function isBetter(value: number, name: string, otherValue: number, other: HrwNode): boolean {
  return value > otherValue || (value === otherValue && name < other.name);
}

function weighted(uniform: number, weight: number): number {
  return -weight / Math.log((uniform + 0.5) / 2 ** 53);
}

/** Spreads every bit of the input over all bits of the output. */
function mix({ high, low }: Hash64): Hash64 {
  let h = high;
  let l = low;
  for (let round = 0; round < 2; round++) {
    h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
    l = Math.imul(l ^ (l >>> 15), 0x846ca68b) ^ h;
    h = Math.imul(h ^ (h >>> 15), 0x9e3779b1) ^ l;
    l ^= l >>> 16;
    h ^= h >>> 13;
  }
  return { high: h >>> 0, low: l >>> 0 };
}
