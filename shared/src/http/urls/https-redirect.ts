/** Redirects a plain request to the same URL over TLS. */

/** A host that a client may name, perhaps with a port: nothing that could begin another field. */
const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::\d{1,5})?$/i;
/** Octets that must be escaped in a Location; Node's parser gives one character for each. */
const NOT_IN_A_LOCATION = /[^\x21-\x7e]/g;

/**
 * Returns the URL to which a client without TLS is redirected.
 *
 * @param host the request's Host field
 * @param target the request's target, in origin form
 * @param port port for TLS
 * @param publicUrl address of this edge for clients, if it is known
 * @returns undefined if the request does not name a usable host or target
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
