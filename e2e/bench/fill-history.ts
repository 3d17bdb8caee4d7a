/** Fills a daemon with the long history of years of use. */

/** Entries per call. */
const PIECE = 10_000;

/**
 * Adds finished downloads to the history.
 *
 * @param add imports a list in the format of `millrace export`
 */
export async function fillHistory(
  add: (list: { readonly text: string; readonly format: 'json' }) => Promise<unknown>,
  entries: number,
): Promise<void> {
  for (let from = 0; from < entries; from += PIECE) {
    const downloads = Array.from({ length: Math.min(PIECE, entries - from) }, (_, i) => ({
      request: { urls: [`http://127.0.0.1:9/history-${from + i}.iso`] },
      state: 'complete',
      name: `history-${from + i}.iso`,
      length: (from + i + 1) * 1000,
      finishedAt: 1_700_000_000_000 + (from + i) * 60_000,
    }));
    const text = JSON.stringify({ millrace: 'downloads', format: 1, downloads });
    await add({ text, format: 'json' });
  }
}
