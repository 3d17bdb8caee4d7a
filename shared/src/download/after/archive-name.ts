/** Recognizes archives that can be extracted, by their names. */

const ARCHIVE =
  /^(.+?)\.(?:tar(?:\.(?:gz|bz2|xz|zst|lz|lzma|z))?|t(?:gz|bz2?|xz|zst|lz)|zip|7z|rar|cab|cpio)$/i;

/** Returns the name of the folder for an archive's content; undefined for other files. */
export function archiveStem(name: string): string | undefined {
  const stem = ARCHIVE.exec(name)?.[1];
  // A name of dots alone would be the folder itself, or the one above.
  return stem === undefined || /^\.*$/.test(stem) ? undefined : stem;
}

/** Returns true for the name of a tar, compressed or not. */
export function isTar(name: string): boolean {
  return /\.(?:tar(?:\.\w+)?|t(?:gz|bz2?|xz|zst|lz))$/i.test(name);
}

/** Most files and folders of an archive that is extracted after its download. */
export const MAX_EXTRACTED_MEMBERS = 200_000;
const MIN_EXTRACTED_BYTES = 2 ** 30;
/** The densest real archives, of logs and empty images, come near this; those made to fill disks go far beyond. */
const MAX_RATIO = 200;

/** Returns how many bytes may come out of an archive. @param length bytes of the archive */
export function extractedBound(length: number): number {
  return Math.max(MIN_EXTRACTED_BYTES, length * MAX_RATIO);
}
