/** Endings of the files beside a download that is not complete. */

export const DATA_SUFFIX = '.millrace-part';
export const JOURNAL_SUFFIX = '.millrace-journal';
export const LOCK_SUFFIX = '.millrace-lock';
/** The journal while it is being rewritten. */
export const NEW_JOURNAL_SUFFIX = `${JOURNAL_SUFFIX}.new`;
