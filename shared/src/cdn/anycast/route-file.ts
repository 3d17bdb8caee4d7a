/** The files by which routing daemons learn of anycast routes. */

/** Formats of the files. */
export type RouteFormat = 'bird' | 'exabgp';

/**
 * Writes the content of a file.
 *
 * @param routes networks in CIDR notation
 * @param announced whether they are announced now
 */
export function routeFile(
  format: RouteFormat,
  routes: readonly string[],
  announced: boolean,
): string {
  return format === 'bird' ? bird(routes, announced) : exabgp(routes, announced);
}

/**
 * Writes two protocols for BIRD 2, whose names filters can use. They are always there: BIRD then
 * only adds or removes routes when it reads its configuration again.
 */
function bird(routes: readonly string[], announced: boolean): string {
  const protocol = (family: 4 | 6) => {
    const own = routes.filter((route) => route.includes(':') === (family === 6));
    // The machine has the address itself; packets for one that it lacks end here.
    const lines = own.map((route) => `  route ${route} unreachable;\n`).join('');
    const channel = `protocol static millrace${family} {\n  ipv${family};\n`;
    return `${channel}${announced ? lines : ''}}\n`;
  };
  return `# Written by an edge of Millrace: ${announced ? 'announced' : 'withdrawn'}.\n${protocol(4)}${protocol(6)}`;
}

/** Writes the commands of ExaBGP's text API. */
function exabgp(routes: readonly string[], announced: boolean): string {
  const verb = announced ? 'announce' : 'withdraw';
  return routes.map((route) => `${verb} route ${route} next-hop self\n`).join('');
}
