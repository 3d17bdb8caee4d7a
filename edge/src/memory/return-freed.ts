/**
 * Gives memory that was freed back to the system. glibc keeps it if something in use lies behind
 * it, as after thousands of requests with long headers. To the account such memory looks taken, and
 * keeps transfers out. Read through koffi if that is installed, and only where the C library has
 * the function.
 */

type Load = () => Promise<Pick<typeof import('koffi'), 'load'>>;

let trim: Promise<(() => void) | undefined> | undefined;

/** Returns freed memory, in some tens of milliseconds; does nothing where that is not possible. */
export async function returnFreed(): Promise<void> {
  trim ??= openTrim();
  (await trim)?.();
}

/**
 * Looks for the C library's function.
 *
 * @param load gives the library; for tests
 * @returns undefined if there is none; never rejects
 */
export async function openTrim(
  load: Load = () => import('koffi'),
): Promise<(() => void) | undefined> {
  try {
    const koffi = await load();
    // Node itself is linked with the C library, whichever that is.
    const mallocTrim = koffi.load(null).func('int malloc_trim(size_t pad)');
    return () => void mallocTrim(0);
  } catch {
    return undefined;
  }
}
