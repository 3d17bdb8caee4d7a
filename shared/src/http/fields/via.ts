/** The Via field (RFC 9110 7.6.3), which lists the intermediaries that a message has passed. */

/** Makes the item that an intermediary adds for itself. */
export function viaItem(name: string): string {
  return `1.1 ${name}`;
}

/** Returns the names in a Via field, in lower case; an item without a name gives an empty name. */
export function namesInVia(via: string | undefined): string[] {
  return (via ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.trim().split(/\s+/)[1] ?? '');
}
