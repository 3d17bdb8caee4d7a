/** From a plain request to the same one over TLS. */

/** A host, and maybe a port, as a client may name it: nothing that could become another field. */
const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::\d{1,5})?$/i;
/** Octets that must be escaped in a field; Node's parser gives one character for each. */
const NOT_IN_A_LOCATION = /[^\x21-\x7e]/g;

/**
 * Where a client that came without TLS should go instead.
 *
 * @param host the request's Host field
 * @param target its target, in origin form
 * @param port of TLS
 * @param publicUrl address of this edge for clients, where it is known
 * @returns a URL; undefined where the request does not say enough to know one
 */
export function httpsLocation(
  host: string | undefined,
  target: string,
  port: number,
  publicUrl?: string,
): string | undefined {
  if (!target.startsWith('/')) return undefined;
  const path = target.replace(
    NOT_IN_A_LOCATION,
    (octet) => `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  if (publicUrl?.startsWith('https:')) return publicUrl + path;
  const name = HOST.exec(host ?? '')?.[1];
  if (name === undefined) return undefined;
  const location = `https://${name}${port === 443 ? '' : `:${port}`}${path}`;
  try {
    new URL(location);
    return location;
  } catch {
    return undefined; // such as an address with five parts
  }
}
