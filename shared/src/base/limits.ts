/**
 * Limits on everything that a stranger can make large, and the sizes the parts agree on.
 * Sizes are in bytes, times in milliseconds.
 */

const KiB = 1024;
const MiB = 1024 * KiB;

/** Legal chunk sizes are the powers of two from MIN to MAX. */
export const MIN_CHUNK_BYTES = 64 * KiB;
export const MAX_CHUNK_BYTES = 16 * MiB;
export const DEFAULT_CHUNK_BYTES = 512 * KiB;

/** Memory that one client's response may hold: its window of chunks (NSDI 5.4's buffer). */
export const BUFFER_BYTES_PER_CLIENT = 16 * MiB;

/** Longest origin URL, and longest chunk name (URL plus its suffixes). */
export const MAX_URL_CHARS = 8192;
export const MAX_CHUNK_NAME_CHARS = MAX_URL_CHARS + 512;

/** Longest entity tag that can pin a version; longer ones are treated as absent. */
export const MAX_ETAG_CHARS = 256;

/** Most ranges in one request, after merging those that overlap or touch. */
export const MAX_RANGES = 32;
/** Longest Range header field that is read at all. */
export const MAX_RANGE_FIELD_CHARS = 4096;

/** Longest header of one part of a multipart/byteranges body. */
export const MAX_PART_HEADER_BYTES = 4096;

/** Most redirects that an edge follows for one request. */
export const MAX_REDIRECTS = 5;
/** Most redirects that a download follows: as many as browsers do. */
export const MAX_DOWNLOAD_REDIRECTS = 20;

/** Longest field value of an origin that is kept and passed on. */
export const MAX_PASSED_FIELD_CHARS = 4096;

/** Longest answer without a file that an edge passes on as the origin has written it. */
export const MAX_ANSWER_BYTES = 64 * KiB;

/** A Retry-After longer than this is passed on to the client instead of being waited for. */
export const MAX_RETRY_AFTER_WAIT_MS = 30_000;

/**
 * Bounds on interim answers (1xx) to one request: their number, and the milliseconds until the answer
 * itself, in any case. Nodes send ten a second while they wait for an origin, for some minutes at most.
 */
export const MAX_INTERIM_ANSWERS = 10_000;
export const MAX_HEAD_WAIT_MS = 10 * 60_000;

/** Most entries of an edge's rules about origins, and the largest file of them. */
export const MAX_RULES = 1000;
export const MAX_RULES_FILE_BYTES = 1 * MiB;

/** Most secrets for signed links valid at the same time, old ones of a rotation included. */
export const MAX_LINK_SECRETS = 4;

/** Limits of folder manifests: their text, their entries, and names in them (bytes of UTF-8). */
export const MAX_MANIFEST_BYTES = 64 * MiB;
export const MAX_MANIFEST_FILES = 200_000;
export const MAX_MANIFEST_PIECES = 500_000;
export const MAX_SYNC_PATH_BYTES = 1024;
export const MAX_SYNC_NAME_BYTES = 255;
export const MAX_SYNC_DEPTH = 64;

/** Most files and folders in a folder that is sent, or in an archive that is unpacked. */
export const MAX_ARCHIVE_MEMBERS = 1_000_000;
