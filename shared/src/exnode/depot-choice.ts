/**
 * Orders depots that a network has named, so that what is stored does not depend on one organisation
 * or one host.
 */

/** A depot, as far as it is known who runs it. */
export interface KnownDepot {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Its organisation, if it tells one. */
  readonly org?: string | undefined;
}

/**
 * Orders found depots: each next one shares organisation and host with as few of those before it as
 * possible, and is the best of these.
 *
 * @param found the best first
 * @param used depots that store something anyway
 */
export function mixed<D extends KnownDepot>(found: readonly D[], used: readonly KnownDepot[]): D[] {
  const orgs = new Map<string, number>();
  const hosts = new Map<string, number>();
  const note = ({ origin, org }: KnownDepot) => {
    const { hostname } = new URL(origin);
    hosts.set(hostname, (hosts.get(hostname) ?? 0) + 1);
    if (org !== undefined) orgs.set(org, (orgs.get(org) ?? 0) + 1);
  };
  const shared = ({ origin, org = '' }: KnownDepot) =>
    (orgs.get(org) ?? 0) + (hosts.get(new URL(origin).hostname) ?? 0);
  for (const depot of used) note(depot);
  const left = [...found];
  const ordered: D[] = [];
  while (left.length > 0) {
    const counts = left.map(shared);
    const least = Math.min(...counts);
    const [next] = left.splice(counts.indexOf(least), 1) as [D];
    note(next);
    ordered.push(next);
  }
  return ordered;
}

/** Merges lists, each with the best first, so that none is preferred; keeps one for each origin. */
export function merged<D extends KnownDepot>(lists: readonly (readonly D[])[]): D[] {
  const byOrigin = new Map<string, D>();
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  for (let i = 0; i < longest; i++) {
    for (const list of lists) {
      const depot = list[i];
      if (depot !== undefined && !byOrigin.has(depot.origin)) byOrigin.set(depot.origin, depot);
    }
  }
  return [...byOrigin.values()];
}
