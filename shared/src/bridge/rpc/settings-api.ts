/** Everything that the daemon can be set to and keeps for its user. */

import type { TrashLimits } from '../../download/queue/trash.ts';
import type { EdgeEntry } from './edge-api.ts';

export { MAX_TRASH_DAYS } from '../../download/queue/trash.ts';

/** Downloads at a time, at most. */
export const MAX_CONCURRENT = 100;

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export interface CategoryView {
  readonly name: string;
  /** Relative to the download folder, or absolute; empty: the download folder itself. */
  readonly folder: string;
  /** Lower case, without the dot. */
  readonly extensions: readonly string[];
}

/** Local time; where `to` is not after `from` it ends on the next day. */
export interface WindowView {
  readonly days: readonly (typeof WEEKDAYS)[number][];
  /** HH:MM */
  readonly from: string;
  readonly to: string;
  /** Either `pause`, or a limit in bytes per second. */
  readonly pause?: boolean;
  readonly limit?: number;
}

export interface LimitsView {
  /** Bytes per second over all downloads; null: none. */
  readonly limit: number | null;
  /** Downloads at a time. */
  readonly concurrent: number;
  /** Downloads at a time from one host; null: no limit. */
  readonly perHost: number | null;
}

export const THEMES = ['system', 'light', 'dark'] as const;
export const DENSITIES = ['comfortable', 'compact'] as const;

export interface Appearance {
  readonly theme: (typeof THEMES)[number];
  readonly density: (typeof DENSITIES)[number];
}

/** What downloads that are added from now on are like, unless they say otherwise. */
export interface DownloadDefaults {
  readonly useEdges: boolean;
  /** Connections at a time, 1 to 32. */
  readonly connections: number;
  /** Look beside files for SHA256SUMS and the like. */
  readonly sidecars: boolean;
}

export interface AppSettings {
  /** Download folder, absolute. */
  readonly dir: string;
  readonly categories: readonly CategoryView[];
  readonly edges: readonly EdgeEntry[];
  readonly limits: LimitsView;
  readonly windows: readonly WindowView[];
  /** http://, https:// or socks5:// URL; `direct`: none; null: as the system's environment says. */
  readonly proxy: string | null;
  readonly defaults: DownloadDefaults;
  readonly appearance: Appearance;
  readonly trash: TrashLimits;
  /** Save what a browser hands over where it would have, unless a folder is chosen here. */
  readonly browserFolder: boolean;
  /** Language tag such as `en`; `system`: as the browser has it. */
  readonly language: string;
  /** Whatever else page or shell want to keep: column widths and the like. At most 64 small values. */
  readonly preferences: Readonly<Record<string, string | number | boolean>>;
}

/** Changes to settings: members that are left out stay; lists are replaced as a whole. */
export interface SettingsChange {
  /** null: the one that the daemon was started with. */
  readonly dir?: string | null;
  readonly categories?: readonly CategoryView[];
  readonly limits?: Partial<LimitsView>;
  readonly windows?: readonly WindowView[];
  readonly proxy?: string | null;
  readonly defaults?: Partial<DownloadDefaults>;
  readonly appearance?: Partial<Appearance>;
  readonly trash?: Partial<TrashLimits>;
  readonly browserFolder?: boolean;
  readonly language?: string;
  /** null takes a value out. */
  readonly preferences?: Readonly<Record<string, string | number | boolean | null>>;
}

export const DEFAULT_APPEARANCE: Appearance = { theme: 'system', density: 'comfortable' };

export const DEFAULT_DOWNLOADS: DownloadDefaults = {
  useEdges: true,
  connections: 8,
  sidecars: false,
};

export interface LearnedHost {
  /** With its port, as in `URL.host`. */
  readonly host: string;
  /** Requests at a time. */
  readonly limit: number;
  /** It has asked not to be asked before, Unix milliseconds. */
  readonly restsUntil?: number | undefined;
  /** When the limit was changed last, Unix milliseconds. */
  readonly learnedAt: number;
}

export interface LearnedLimits {
  /** Bytes per second over all downloads; undefined: none. */
  readonly limit?: number | undefined;
  /** Downloads at a time. */
  readonly concurrent: number;
  /** Downloads at a time from one host; undefined: no limit. */
  readonly perHost?: number | undefined;
  /** Of whom something is known that holds still. */
  readonly hosts: readonly LearnedHost[];
}

/** What the schedule says at present. */
export interface ScheduleNow {
  readonly now: 'free' | 'pause' | 'limit';
  /** Bytes per second. */
  readonly limit?: number | undefined;
  /** Unix milliseconds. */
  readonly nextChangeAt?: number | undefined;
}

export interface ScheduleView extends ScheduleNow {
  readonly windows: readonly WindowView[];
}
