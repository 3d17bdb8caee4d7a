/** Suffixes of the files beside an incomplete download. */

export const DATA_SUFFIX = '.millrace-part';
export const JOURNAL_SUFFIX = '.millrace-journal';
export const LOCK_SUFFIX = '.millrace-lock';
/** Suffix of the journal while it is being rewritten. */
export const NEW_JOURNAL_SUFFIX = `${JOURNAL_SUFFIX}.new`;
