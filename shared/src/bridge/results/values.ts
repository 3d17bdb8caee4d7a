/** Enumerations for members of results; without zod, because pages import them as well. */

export const DOWNLOAD_STATUSES = [
  'active',
  'queued',
  'waiting',
  'paused',
  'complete',
  'error',
  'removed',
] as const;

/** Parts of a listed download that are taken only if the user trusts the list. */
export const DELICATE_KINDS = [
  'folder',
  'name',
  'overwrite',
  'cookie-file',
  'netrc',
  'proxy',
  'headers',
  'edges',
  'place',
  'other',
] as const;

export const LOG_EVENTS = [
  'added',
  'started',
  'phase',
  'paused',
  'resumed',
  'retry',
  'failed',
  'complete',
  'removed',
  'restored',
  'note',
] as const;

/**
 * `revoking`: about to be revoked, which can be undone until `revokeAt`. `revoke-failed`: a depot has
 * not deleted it yet, and is asked again at `revokeAt`.
 */
export const SHARE_STATES = [
  'waiting',
  'sending',
  'paused',
  'failed',
  'shared',
  'expired',
  'revoking',
  'revoke-failed',
  'revoked',
] as const;

/** States of the depots that hold a file that was sent. */
export const HOLDER_STATES = ['good', 'slow', 'silent', 'failing', 'expired', 'lost'] as const;
/** Changes of a stored file that depots are asked for. */
export const SHARE_CHANGES = ['extending', 'repairing', 'revoking'] as const;

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export const THEMES = ['system', 'light', 'dark'] as const;
export const DENSITIES = ['comfortable', 'compact'] as const;

/** Where settings of proxies are written. */
export const PROXY_SOURCES = ['environment', 'gnome', 'kde', 'windows', 'macos', 'none'] as const;
/** How such settings have requests travel. */
export const PROXY_WAYS = ['direct', 'servers', 'script', 'discovery'] as const;
