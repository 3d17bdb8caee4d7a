/** Cuts long texts into pieces that the daemon reads one after the other. */

/** Most links that are taken from one text: as many as the queue holds. */
export const MAX_LINKS = 20_000;
/** Most characters of a text that are read. */
export const MAX_TEXT_CHARS = 4_000_000;
const PIECE_LINKS = 900;
const PIECE_CHARS = 250_000;

/** Cuts a text between words into pieces, each with no more links than one call takes. */
export function* textPieces(text: string): Generator<string> {
  const most = text.slice(0, MAX_TEXT_CHARS);
  let from = 0;
  let links = 0;
  for (const { 0: word, index } of most.matchAll(/\S+/g)) {
    const more = word.match(/https?:\/\//gi)?.length ?? 0;
    const end = index + word.length;
    if (index > from && (links + more > PIECE_LINKS || end - from > PIECE_CHARS)) {
      yield most.slice(from, index);
      from = index;
      links = 0;
    }
    links += more;
  }
  if (from < most.length) yield most.slice(from);
}

/** Yields a list in batches. @param size most items of a batch, 1 or more */
export function* batches<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}
