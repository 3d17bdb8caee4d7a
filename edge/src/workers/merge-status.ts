/** One status for several processes: counts are added up, other values are those of the first. */

type Json = unknown;

/** Figures that do not add up: the largest is used. */
const NOT_SUMMED: ReadonlySet<string> = new Set([
  'chunkBytes',
  'uptimeSeconds',
  'meanChunks',
  'orderFailures',
  'room',
  // All processes have the same ones.
  'purges',
  'pins',
]);

/**
 * Merges the statuses of workers for `/-/status`.
 *
 * @param name of the edge as a whole
 * @param workers those that have answered
 */
export function mergeStatus(
  name: string,
  workers: readonly Record<string, Json>[],
): Record<string, Json> {
  if (workers.length === 0) return { name, workers: [] };
  const names = new Set(workers.map((worker) => worker.name));
  const merged = merge(workers) as Record<string, Json>;
  const peers = (merged.peers ?? []) as { readonly name: string }[];
  return {
    ...merged,
    name,
    // Workers are peers of each other; from outside they are one edge.
    peers: peers.filter((peer) => !names.has(peer.name)),
    workers: workers.map((worker) => ({
      name: worker.name,
      transfers: worker.transfers,
      bytes: worker.bytes,
      peers: usable(worker),
      process: worker.process,
    })),
  };
}

/** Counts the peers that a worker can use, the other workers among them. */
function usable(worker: Record<string, Json>): number {
  const peers = (worker.peers ?? []) as { readonly usable?: boolean; readonly member?: boolean }[];
  return peers.filter((peer) => peer.usable === true && peer.member === true).length;
}

function merge(values: readonly Json[], key = ''): Json {
  const [first] = values;
  if (typeof first === 'number') {
    if (NOT_SUMMED.has(key)) return Math.max(...(values as number[]));
    return (values as number[]).reduce((sum, value) => sum + value, 0);
  }
  if (typeof first === 'boolean') return values.every((value) => value === true);
  if (typeof first !== 'object' || first === null || Array.isArray(first)) return first;
  // Not all processes have the same counts: errors by code, for example.
  const objects = values.filter((value) => typeof value === 'object' && value !== null);
  const names = new Set(objects.flatMap((value) => Object.keys(value as object)));
  return Object.fromEntries(
    Array.from(names, (name) => {
      const parts = objects.map((value) => (value as Record<string, Json>)[name]);
      return [
        name,
        merge(
          parts.filter((part) => part !== undefined),
          name,
        ),
      ];
    }),
  );
}
