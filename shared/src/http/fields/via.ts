/** The Via field (RFC 9110 7.6.3): which intermediaries a message has passed. */

/** Makes the item that an intermediary adds for itself. */
export function viaItem(name: string): string {
  return `1.1 ${name}`;
}

/** The names in a Via field, in lower case; empty where there is no field. */
export function namesInVia(via: string | undefined): string[] {
  return (via ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.trim().split(/\s+/)[1] ?? '');
}
