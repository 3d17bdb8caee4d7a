/** The names of findings about an origin. The page has their texts. */

/** Good; usable, but not as well as it could be; not usable; or for information only. */
export type Grade = 'good' | 'limited' | 'bad' | 'note';

export type FindingId =
  // The answer as a whole
  | 'not-found'
  | 'gone'
  | 'denied'
  | 'busy'
  | 'strange-status'
  // Ranges and length
  | 'ranges-right'
  | 'ranges-ignored'
  | 'ranges-wrong'
  | 'encoded'
  | 'length-unknown'
  | 'empty-file'
  // Versions
  | 'etag-strong'
  | 'date-only'
  | 'etag-weak'
  | 'date-too-new'
  | 'etag-weak-only'
  | 'version-none'
  | 'version-unstable'
  | 'own-version-refused'
  // Caching
  | 'fresh'
  | 'fresh-briefly'
  | 'fresh-never'
  | 'fresh-guessed'
  | 'no-store'
  | 'private'
  | 'set-cookie'
  | 'vary'
  | 'revalidates'
  | 'no-revalidation'
  // The rest
  | 'type-known'
  | 'type-missing'
  | 'type-page'
  | 'redirects'
  | 'redirect-downgrade'
  | 'signed-link'
  | 'encrypted'
  | 'plain'
  | 'first-byte';

export interface Finding {
  readonly id: FindingId;
  readonly grade: Grade;
  /** Values to insert into the text: bytes, milliseconds, names. */
  readonly values?: Readonly<Record<string, string | number>> | undefined;
}
